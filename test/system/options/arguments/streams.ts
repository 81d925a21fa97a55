import * as weir from '../../../../src/index.ts'
import { type ArgumentsCalls, made, methodsOf, of, on } from './call.ts'

const fn = (): void => {}
const same = (value: unknown): unknown => value
const format = weir.jsonFormat()
const env = (): weir.StreamExecutionEnvironment => new weir.StreamExecutionEnvironment()
const stream = (): weir.DataStream<number> => env().fromElements([1])
const keyed = (): weir.KeyedStream<number, number> => stream().keyBy((n) => n)
const windows = weir.tumblingEventTimeWindows(1000)
const sink = new weir.DiscardingSink()
const summing: weir.AggregateFunction<number, number, number> = {
  createAccumulator: () => 0,
  add: (value, sum) => value + sum,
  getResult: (sum) => sum,
  merge: (a, b) => a + b,
}
const processing = () => ({ processElement() {}, processElement1() {}, processElement2() {} })
const mapping = () => ({ map: same, map1: same, map2: same, filter: () => true, reduce: same })
const flattening = () => ({ flatMap: fn, flatMap1: fn, flatMap2: fn })
const windowFunction = () => ({ process() {} })
const two = () => {
  const numbers = stream()
  return numbers.connect(numbers)
}
const twoKeyed = () =>
  two().keyBy(
    (a) => a,
    (b) => b,
  )
const window = () => keyed().window(windows)
const all = () => stream().windowAll(windows)
const states = [weir.mapState('rules')] as const
const broadcast = () => {
  const numbers = stream()
  return numbers.connect(numbers.broadcast(...states))
}
const broadcastKeyed = () => {
  const numbers = stream()
  return numbers.keyBy((n) => n).connect(numbers.broadcast(...states))
}
const withTable = env()
const table = withTable.table(new weir.MemorySource([[1]]), { keyOf: (n: number) => n })
const besideTable = () => withTable.fromElements([1])
const numbersTable = () =>
  withTable.table(new weir.MemorySource([[1]]), { keyOf: (n: number) => n })
const groupedTable = () => numbersTable().groupBy((n) => [n, n])
const counted = { n: weir.count().over('1h') }
const featured = () => keyed().features(counted)
const graph = () => {
  const job = env()
  job.fromElements([1]).discard()
  return job.graph()
}
const tag = () => new weir.OutputTag<number>('late')

/** The methods that streams and windows share. */
function settings(name: string, make: () => object): ArgumentsCalls {
  return methodsOf(
    name,
    make,
    ['uid', 'u'],
    ['name', 'n'],
    ['setParallelism', 2],
    ['setMaxParallelism', 128],
    ['onError', 'skip'],
  )
}

function streamCalls(name: string, make: () => object): ArgumentsCalls {
  return methodsOf(
    name,
    make,
    ['map', same],
    ['filter', () => true],
    ['flatMap', () => []],
    ['richMap', mapping],
    ['richFilter', mapping],
    ['richFlatMap', flattening],
    ['process', processing],
    ['transform', 'T', () => ({})],
    ['connect', undefined],
    ['sinkTo', sink],
    ['print', 'p'],
    ['printToErr', 'p'],
    ['executeAndCollect', 'j'],
  )
}

function windowCalls(name: string, make: () => object): ArgumentsCalls {
  return methodsOf(
    name,
    make,
    ['apply', () => []],
    ...['sum', 'min', 'max', 'minBy', 'maxBy'].map((method) => [method, 'n'] as const),
    ['trigger', weir.countTrigger(1)],
    ['evictor', weir.countEvictor(1)],
    ['allowedLateness', 1],
    ['sideOutputLateData', tag()],
    ['reduce', (a: number) => a],
    ['aggregate', summing],
    ['process', windowFunction],
  )
}

/** Calls that make streams and jobs. */
export const STREAM_CALLS: ArgumentsCalls = {
  ...settings('dataStream', () => stream().map((n) => n)),
  ...settings('dataStreamSink', () => stream().discard()),
  ...streamCalls('dataStream', stream),
  'dataStream.infer': on(stream, 'infer', 'm', { inputs: fn, result: fn }),
  'dataStream.assignTimestampsAndWatermarks': on(
    stream,
    'assignTimestampsAndWatermarks',
    weir.noWatermarks(),
  ),
  'dataStream.keyBy': on(stream, 'keyBy', same),
  'dataStream.reinterpretAsKeyedStream': on(stream, 'reinterpretAsKeyedStream', same),
  'dataStream.joinTable': on(besideTable, 'joinTable', table, same, same),
  'dataStream.toTable': on(stream, 'toTable', { keyOf: same }),
  ...settings('table', numbersTable),
  'table.mapRows': on(numbersTable, 'mapRows', same),
  'table.filter': on(numbersTable, 'filter', () => true),
  'table.groupBy': on(numbersTable, 'groupBy', fn),
  'table.suppress': on(numbersTable, 'suppress', weir.untilTime(1)),
  ...Object.fromEntries(
    (['join', 'leftJoin', 'outerJoin'] as const).map((method) => [
      `table.${method}`,
      on(numbersTable, method, table, same),
    ]),
  ),
  ...Object.fromEntries(
    (['joinByForeignKey', 'leftJoinByForeignKey'] as const).map((method) => [
      `table.${method}`,
      on(numbersTable, method, table, same, same),
    ]),
  ),
  'groupedTable.count': on(groupedTable, 'count'),
  'groupedTable.reduce': on(groupedTable, 'reduce', same, same),
  'groupedTable.aggregate': on(groupedTable, 'aggregate', {
    createAccumulator: fn,
    add: fn,
    retract: fn,
    getResult: fn,
  }),
  untilTime: of(weir.untilTime, 1),
  'dataStream.join': on(stream, 'join', undefined),
  'dataStream.coGroup': on(stream, 'coGroup', undefined),
  'dataStream.windowAll': on(stream, 'windowAll', windows),
  'dataStream.countWindowAll': on(stream, 'countWindowAll', 1),
  'dataStream.getSideOutput': on(stream, 'getSideOutput', tag()),
  'dataStream.partitionCustom': on(stream, 'partitionCustom', () => 0, same),
  'dataStream.returns': on(stream, 'returns', format),
  'dataStream.union': on(stream, 'union'),
  ...streamCalls('keyedStream', keyed),
  'keyedStream.reduce': on(keyed, 'reduce', (a: number) => a),
  'keyedStream.richReduce': on(keyed, 'richReduce', mapping),
  'keyedStream.intervalJoin': on(keyed, 'intervalJoin', undefined),
  'keyedStream.countWindow': on(keyed, 'countWindow', 1),
  'keyedStream.window': on(keyed, 'window', windows),
  'keyedStream.asQueryableState': on(keyed, 'asQueryableState', 'S'),
  'keyedStream.features': on(keyed, 'features', counted),
  ...settings('featureStream', featured),
  'featureStream.asQueryableState': on(featured, 'asQueryableState', 'S'),
  'featureStream.join': on(featured, 'join', same),
  'feature.over': on(() => weir.count(), 'over', '1h'),
  count: of(weir.count),
  sum: of(weir.sum, fn),
  mean: of(weir.mean, fn),
  min: of(weir.min, fn),
  max: of(weir.max, fn),
  distinct: of(weir.distinct, fn),
  quantile: of(weir.quantile, 0.5, fn),
  lastN: of(weir.lastN, 1, fn),
  ...Object.fromEntries(
    (['sum', 'min', 'max', 'minBy', 'maxBy'] as const).map((method) => [
      `keyedStream.${method}`,
      on(keyed, method, 'n'),
    ]),
  ),
  ...windowCalls('windowedStream', window),
  ...windowCalls('allWindowedStream', all),
  'connectedStreams.keyBy': on(two, 'keyBy', same, same),
  'connectedStreams.process': on(two, 'process', processing),
  'connectedStreams.map': on(two, 'map', mapping),
  'connectedStreams.flatMap': on(two, 'flatMap', flattening),
  'connectedStreams.transform': on(two, 'transform', 'T', () => ({})),
  'keyedConnectedStreams.process': on(twoKeyed, 'process', processing),
  'keyedConnectedStreams.map': on(twoKeyed, 'map', mapping),
  'keyedConnectedStreams.flatMap': on(twoKeyed, 'flatMap', flattening),
  'keyedConnectedStreams.transform': on(twoKeyed, 'transform', 'T', () => ({})),
  'broadcastConnectedStream.process': on(broadcast as never, 'process' as never, fn),
  'keyedBroadcastConnectedStream.process': on(broadcastKeyed as never, 'process' as never, fn),
  'streamExecutionEnvironment.setParallelism': on(env, 'setParallelism', 1),
  'streamExecutionEnvironment.setMaxParallelism': on(env, 'setMaxParallelism', 128),
  'streamExecutionEnvironment.onError': on(env, 'onError', 'skip'),
  'streamExecutionEnvironment.setJobName': on(env, 'setJobName', 'j'),
  'streamExecutionEnvironment.fromSource': on(env, 'fromSource', new weir.MemorySource([[1]])),
  'streamExecutionEnvironment.table': on(env, 'table', new weir.MemorySource([[1]]), {
    keyOf: same,
  }),
  'streamExecutionEnvironment.fromElements': on(env, 'fromElements', [1]),
  'streamExecutionEnvironment.fromSequence': on(env, 'fromSequence', 1, 2),
  'streamExecutionEnvironment.graph': on(env, 'graph', 'j'),
  'streamExecutionEnvironment.execute': on(env, 'execute', 'j'),
  'new StreamExecutionEnvironment': made(weir.StreamExecutionEnvironment),
  'new LocalExecutor': made(weir.LocalExecutor),
  'localExecutor.execute': on(() => new weir.LocalExecutor(), 'execute', graph()),
  'localExecutor.start': on(() => new weir.LocalExecutor(), 'start', graph()),
  buildJob: of(weir.buildJob, { name: 'j', build: fn }, {}),
  defineJob: of(weir.defineJob, { name: 'j', build: fn }),
  'new OutputTag': made(weir.OutputTag, 't'),
}
