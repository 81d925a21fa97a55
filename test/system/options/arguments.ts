import { atLeast, keyOfText } from '../../../src/client/index.ts'
import { KafkaSink, KafkaSource } from '../../../src/connectors/kafka/index.ts'
import * as weir from '../../../src/index.ts'
import { openInferenceEngine } from '../../../src/inference.ts'
import * as learning from '../../../src/learning.ts'
import * as testing from '../../../src/testing/index.ts'
import { traceProgram, withSpan } from '../../../src/tracing/index.ts'
import type { World } from './calls.ts'

/** A call with right arguments, of which the test replaces one after the other. */
export interface ArgumentsCall {
  /** Arguments that the call takes, up to the last one that it needs. */
  readonly args: readonly unknown[]
  readonly call: (world: World, ...args: never[]) => unknown
}

const fn = (): void => {}
const same = (value: unknown): unknown => value
const format = weir.jsonFormat()
const { systemClock: clock } = weir
const env = (): weir.StreamExecutionEnvironment => new weir.StreamExecutionEnvironment()
const stream = (): weir.DataStream<number> => env().fromElements([1])
const keyed = (): weir.KeyedStream<number, number> => stream().keyBy((n) => n)
const windows = weir.tumblingEventTimeWindows(1000)
const sink = new weir.DiscardingSink()
const features = { ids: new Uint32Array(), values: new Float32Array() }
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
const ratings = weir.ratingsTable([
  { user: '1', item: '1', rating: 1, timestamp: 0 },
  { user: '1', item: '2', rating: 2, timestamp: 1 },
  { user: '2', item: '1', rating: 3, timestamp: 2 },
])
const examples = ((): weir.SparseTable => {
  const builder = new weir.SparseTableBuilder()
  for (const label of [1, -1]) builder.add(label, [0], [label], 1)
  return builder.build()
})()

/** A call of a method of what a function makes. */
function on<T>(make: (world: World) => T, method: keyof T & string, ...args: unknown[]) {
  const call = (world: World, ...given: never[]): unknown => {
    const object = make(world) as Record<string, (...args: never[]) => unknown>
    return object[method]!(...given)
  }
  return { args, call }
}

/** A call of a function. */
function of(work: (...args: never[]) => unknown, ...args: unknown[]): ArgumentsCall {
  return { args, call: (_world, ...given) => work(...given) }
}

/** A call of a constructor. */
function made(type: new (...args: never[]) => unknown, ...args: unknown[]): ArgumentsCall {
  return { args, call: (_world, ...given) => new type(...given) }
}

const client = ({ client: opened }: World): World['client'] => opened
const log = (world: World): World['log'] => world.log
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
const change = {
  from: weir.valueState<number>('n'),
  to: weir.valueState<string>('n'),
  change: String,
}
const writer = () => weir.SavepointWriter.newSavepoint(128)
const data = () => weir.bootstrapWith([1])
const manual = () => new testing.ManualClock(0)
const cluster = () => new testing.MiniCluster()
const graph = () => {
  const job = env()
  job.fromElements([1]).discard()
  return job.graph()
}
const tag = () => new weir.OutputTag<number>('late')

/** The methods that streams and windows share. */
function settings(name: string, make: () => object): Record<string, ArgumentsCall> {
  const has = (method: string, ...args: unknown[]) => [
    `${name}.${method}`,
    on(make as () => never, method as never, ...args),
  ]
  return Object.fromEntries([
    has('uid', 'u'),
    has('name', 'n'),
    has('setParallelism', 2),
    has('setMaxParallelism', 128),
    has('onError', 'skip'),
  ])
}

function streamCalls(
  name: string,
  make: () => weir.DataStream<number> | weir.KeyedStream<number, number>,
) {
  const has = (method: string, ...args: unknown[]) => [
    `${name}.${method}`,
    on(make as () => never, method as never, ...args),
  ]
  return Object.fromEntries([
    has('map', same),
    has('filter', () => true),
    has('flatMap', () => []),
    has('richMap', mapping),
    has('richFilter', mapping),
    has('richFlatMap', flattening),
    has('process', processing),
    has('transform', 'T', () => ({}) as never),
    has('connect', undefined),
    has('sinkTo', sink),
    has('print', 'p'),
    has('printToErr', 'p'),
    has('executeAndCollect', 'j'),
  ]) as Record<string, ArgumentsCall>
}

function windowCalls(name: string, make: () => object): Record<string, ArgumentsCall> {
  const has = (method: string, ...args: unknown[]) => [
    `${name}.${method}`,
    on(make as () => never, method as never, ...args),
  ]
  return Object.fromEntries([
    has('apply', () => []),
    ...['sum', 'min', 'max', 'minBy', 'maxBy'].map((method) => has(method, 'n')),
    has('trigger', weir.countTrigger(1)),
    has('evictor', weir.countEvictor(1)),
    has('allowedLateness', 1),
    has('sideOutputLateData', tag()),
    has('reduce', (a: number) => a),
    has('aggregate', summing),
    has('process', windowFunction),
  ])
}

/** Calls that are not walked, with the reason. */
export const LEFT_OUT: readonly (readonly [reason: string, calls: RegExp])[] = [
  [
    'a program gets these objects from Weir',
    /^new (DataStream|KeyedStream|.*ConnectedStreams?|BroadcastStream|DataStreamSink|(All)?WindowedStream|.*StateTransformation|EmbeddedModel|EmbeddedLogProducer|PartitionReader|CollectedResults|JobExecution|MetricGroup|AlsModel|LinearModel|RetrainProcess|LiveErrorWatch|JobModels)$/,
  ],
  [
    'Weir calls them, on what a program gives it',
    /^(.*Operator|.*Gate|.*Coordinator|.*Function|.*Source|adwin|pageHinkley|driftMonitor|prequentialError)\.(open|processElement\d?|processWatermark|onProcessingTime|prepareSnapshot|checkpointCompleted|handleEvent|endInput|live|start|markerOf|learnedBesides|learningBegan|whenApplied|setDesired|discover|subtaskOf|write|join|restoreEarlier)$|Accumulator\.merge$|(Counter|Maximum|Minimum)\.merge$|^listAccumulator\.|^new .*ProcessOperator$|^topicRecordDeserializer$/,
  ],
  [
    'JavaScript, or the state of the class, defines them',
    /^WeirError\.(captureStackTrace|prepareStackTrace)$|^(new WeirError|isWeirError|collectedResults\.takeFirst|alsLearningCurve|linearLearningCurve)$/,
  ],
  [
    'parts between Weir and a learner of one\u2019s own, which TypeScript checks',
    /^(modelRegistry|liveErrorWatch|retrainProcess|savepointReader|memoryCheckpointStorage|operatorHarness|streamHarness|deltaDeduplicator|refusals|resumeOffsets|begunVersions|modelDeltaBuffer|rowMoments|RowMoments|learnableRowSerializer|rowUpdateSerializer|weightUpdateSerializer|exampleRecordReader|slotWeights|stateVersion|slotRowReader|stateCatalog|rowTableReader|(broadcast|keyed)StateTransformation)\.|^new (Refusals|ResumeOffsets|BegunVersions|ModelDeltaBuffer|RowMoments|StateVersion|SlotRowReader|RowTableReader)$|^jobExecution\.(profile|keyGroupRecords|onFinishing|failed|warned)$|Operator\.(fireDue|onEventTimer|onProcessingTimer)$|^(decodeOrigin|requireSameTopic|keyOfEveryGroup|plainNumber|latin1Of|alsVersionMetadata|itemRows|userRows|keyBytesOf|valueBytesOf|deltaShape|withGlobalMean|publishedMoments|idOfKeyBytes|isMeanKeyBytes|kindOfKeyBytes|writeKeySuffix|decodeLinearDelta|encodeLinearDelta|joinedAlarms|largestSquaredError|isRefused|placeOfRange|rangesHere|keyLengthWithoutVersion|versionOfKeyBytes|blockProducts|blocksOf|weirClient\.predictPairs)$/,
  ],
  [
    'a loop calls them for each record or byte, and a check would cost as much as the work',
    /^(new )?[bB]yte(Reader|Writer)|^(counter|histogram|metricGroup|partitionReader|embeddedLogProducer|sparseTableBuilder|ratingsSpill|ratingsParser|libsvmParser|generatedWeights|linearExamples|alsModel|linearModel|servedClassifierQuality|onlineLinearRule|adwin|pageHinkley|driftMonitor|prequentialError)\.|^(biasedRow|decodeFactors|encodeFactors|predictRating|clipRating|formatRating|formatTextRow|coverageOf|isMarkerKey|decodeMarker|encodeMarker|scoreOf|keyGroupOf)$/,
  ],
]

/** A call for each exported function, constructor and method that a program of a user calls, by its name. */
export const ARGUMENTS: Readonly<Record<string, ArgumentsCall>> = {
  // The client.
  'WeirClient.connect': {
    args: [],
    call: ({ client: one }, ...options) =>
      (one.constructor as unknown as { connect(...o: never[]): unknown }).connect(...options),
  },
  'weirClient.predict': on(client, 'predict', 'ALS_MODEL', '1-U', '7-I'),
  'weirClient.predictWithEnvelope': on(client, 'predictWithEnvelope', 'ALS_MODEL', '1-U', '7-I'),
  'weirClient.rows': on(client, 'rows', 'ALS_MODEL', ['1-U']),
  'weirClient.values': on(client, 'values', 'S', ['1']),
  'weirClient.get': on(client, 'get', 'ALS_MODEL', '1-U'),
  'weirClient.scan': on(client, 'scan', 'S', { from: '', to: 'z', limit: 1 }),
  'weirClient.sparseDot': on(client, 'sparseDot', 'S', features),
  'weirClient.predictLinear': on(client, 'predictLinear', 'S', features),
  'weirClient.topK': on(client, 'topK', 'ALS_MODEL', '1-U', { k: 1 }),
  'weirClient.infer': on(client, 'infer', 'm', []),
  'weirClient.inferRaw': on(client, 'inferRaw', 'm', { inputs: [], outputs: [] }),
  'weirClient.models': on(client, 'models'),
  'weirClient.signature': on(client, 'signature', 'm'),
  'weirClient.changeModel': on(client, 'changeModel', 'load', 'm'),
  keyOfText: of(keyOfText, 'k'),
  atLeast: of(atLeast, { source: 0, partition: 0, offset: 0 }),

  // Streams.
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
  'streamExecutionEnvironment.setJobName': on(env, 'setJobName', 'j'),
  'streamExecutionEnvironment.fromSource': on(env, 'fromSource', new weir.MemorySource([[1]])),
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

  // Windows, triggers, evictors, watermarks.
  boundedOutOfOrderness: of(weir.boundedOutOfOrderness, 1),
  generatedWatermarks: of(weir.generatedWatermarks, () => ({ onEvent: fn, onPeriodicEmit: fn })),
  monotonousTimestamps: of(weir.monotonousTimestamps),
  countWindows: of(weir.countWindows, 1),
  dynamicEventTimeSessionWindows: of(weir.dynamicEventTimeSessionWindows, () => 1),
  dynamicProcessingTimeSessionWindows: of(weir.dynamicProcessingTimeSessionWindows, () => 1),
  eventTimeSessionWindows: of(weir.eventTimeSessionWindows, 1),
  processingTimeSessionWindows: of(weir.processingTimeSessionWindows, 1),
  slidingEventTimeWindows: of(weir.slidingEventTimeWindows, 2, 1),
  slidingProcessingTimeWindows: of(weir.slidingProcessingTimeWindows, 2, 1),
  tumblingEventTimeWindows: of(weir.tumblingEventTimeWindows, 1),
  tumblingProcessingTimeWindows: of(weir.tumblingProcessingTimeWindows, 1),
  continuousEventTimeTrigger: of(weir.continuousEventTimeTrigger, 1),
  continuousProcessingTimeTrigger: of(weir.continuousProcessingTimeTrigger, 1),
  countEvictor: of(weir.countEvictor, 1),
  deltaEvictor: of(weir.deltaEvictor, 1, () => 1),
  timeEvictor: of(weir.timeEvictor, 1),
  countTrigger: of(weir.countTrigger, 1),
  deltaTrigger: of(weir.deltaTrigger, 1, () => 1),
  purgingTrigger: of(weir.purgingTrigger, weir.countTrigger(1)),
  exponentialBackoffRetry: of(weir.exponentialBackoffRetry),
  fixedDelayRetry: of(weir.fixedDelayRetry),

  // State.
  aggregatingState: of(weir.aggregatingState, 's', summing),
  listState: of(weir.listState, 's'),
  mapState: of(weir.mapState, 's'),
  reducingState: of(weir.reducingState, 's', (a: number) => a),
  valueState: of(weir.valueState, 's'),
  vectorState: of(weir.vectorState, 's', { dimension: 1 }),

  // Sources, sinks, formats.
  'new LineFileSink': made(weir.LineFileSink),
  'new LineFileSource': made(weir.LineFileSource),
  'EmbeddedLog.open': {
    args: [],
    call: (_world, ...args) => (weir.EmbeddedLog.open as (...o: never[]) => unknown)(...args),
  },
  'embeddedLog.createTopic': on(log, 'createTopic', 'new'),
  'embeddedLog.describe': on(log, 'describe', 'orders'),
  'embeddedLog.bounds': on(log, 'bounds', 'orders', 0),
  'embeddedLog.producer': on(log, 'producer', 'orders'),
  'embeddedLog.reader': on(log, 'reader', 'orders', 0),
  'embeddedLog.setPartitions': on(log, 'setPartitions', 'orders', 1),
  'new KafkaSink': made(KafkaSink),
  'new KafkaSource': made(KafkaSource),
  openInferenceEngine: of(openInferenceEngine),
  'embeddedLog.deleteTopic': on(log, 'deleteTopic', 'none'),
  'embeddedLog.deleteRecords': on(log, 'deleteRecords', 'orders', 0, 0),
  'embeddedLog.endTransaction': on(log, 'endTransaction', { transactionalId: 't' }, true),
  'new LogSink': made(weir.LogSink),
  'new LogSource': made(weir.LogSource),
  'LogSource.raw': of(weir.LogSource.raw),
  'new GeneratorSource': made(weir.GeneratorSource),
  'new MemorySink': made(weir.MemorySink),
  'new MemorySource': made(weir.MemorySource, [[1]]),
  'new PrintSink': made(weir.PrintSink),
  deserializeKeyValue: of(weir.deserializeKeyValue, format, format),
  deserializeValue: of(weir.deserializeValue, format),
  serializeKeyValue: of(weir.serializeKeyValue, format, format),
  serializeValue: of(weir.serializeValue, format),
  openTopics: of(weir.openTopics),
  csvColumns: of(weir.csvColumns, 'a,b', { a: 'string', b: 'string' }),
  csvFormat: of(weir.csvFormat),
  float32VectorFormat: of(weir.float32VectorFormat),
  jsonFormat: of(weir.jsonFormat),
  formatLine: of(weir.formatLine, format),
  parseLine: of(weir.parseLine, format),
  msgpackFormat: of(weir.msgpackFormat),
  textFormat: of(weir.textFormat, { id: 'a/1', parse: same, format: String }),
  ratingLineFormat: of(weir.ratingLineFormat),
  'KafkaSource.raw': of(KafkaSource.raw),

  // Jobs of this process.
  'ServedJob.start': of(weir.ServedJob.start),
  startJob: of(weir.startJob, new URL('file:///none.ts')),
  serveAls: of(weir.serveAls),
  serveSvm: of(weir.serveSvm),
  learnAls: of(weir.learnAls),
  learnSvm: of(weir.learnSvm),
  'jobExecution.waitFor': on(({ job }) => job, 'waitFor', 'RUNNING'),
  'jobExecution.onStatus': on(({ job }) => job, 'onStatus', fn),
  'jobExecution.onWarning': on(({ job }) => job, 'onWarning', fn),
  'jobExecution.triggerCheckpoint': on(({ job }) => job, 'triggerCheckpoint', false),
  'jobExecution.triggerSavepoint': on(({ job }) => job, 'triggerSavepoint', '/tmp/none'),
  'jobExecution.stopWithSavepoint': on(({ job }) => job, 'stopWithSavepoint'),
  'jobExecution.killSlot': on(({ job }) => job, 'killSlot', 0),

  // Savepoints.
  bootstrapWith: of(weir.bootstrapWith, [1]),
  'oneInputStateTransformation.keyBy': on(data, 'keyBy', same),
  'oneInputStateTransformation.transform': on(data, 'transform', processing),
  'oneInputStateTransformation.broadcast': on(data, 'broadcast', ...states),
  'SavepointReader.read': of(weir.SavepointReader.read, 'missing'),
  'SavepointWriter.newSavepoint': of(weir.SavepointWriter.newSavepoint, 128),
  'SavepointWriter.fromExistingSavepoint': of(
    weir.SavepointWriter.fromExistingSavepoint,
    'missing',
  ),
  'savepointWriter.removeOperator': on(writer, 'removeOperator', 'u'),
  'savepointWriter.withOperator': on(
    writer,
    'withOperator',
    'u',
    data().transform(processing as never),
  ),
  'savepointWriter.changeOperatorIdentifier': on(writer, 'changeOperatorIdentifier', 'u', 'v'),
  'savepointWriter.changeValues': on(writer, 'changeValues', 'u', change),
  'savepointWriter.changeWindows': on(writer, 'changeWindows', 'u', change),
  'savepointWriter.changeKeys': on(writer, 'changeKeys', 'u', change),
  structFormat: of(weir.structFormat, { n: { type: 'int32' } }),
  trainedWith: of(learning.trainedWith, {}),
  createModelTopics: of(weir.createModelTopics, undefined, 't'),
  'savepointWriter.write': on(writer, 'write', 'missing'),

  // Training.
  crossValidateAls: of(weir.crossValidateAls, ratings, 2, { iterations: 1, threads: 0 }),
  evaluateAls: of(weir.evaluateAls, {}, ratings),
  evaluateRanking: of(weir.evaluateRanking, {}, ratings, ratings),
  trainAls: of(weir.trainAls, [{ user: '1', item: '1', rating: 1, timestamp: 0 }]),
  trainBmf: of(weir.trainBmf, ratings),
  trainLinear: of(weir.trainLinear, examples),
  crossValidateLinear: of(weir.crossValidateLinear, examples, 2),
  evaluateLinear: of(weir.evaluateLinear, {}, examples),
  linearPrior: of(weir.linearPrior, examples, {}),
  readLibsvm: of(weir.readLibsvm, []),
  readRatings: of(weir.readRatings, []),
  ratingsTable: of(weir.ratingsTable, []),
  splitAtRandom: of(weir.splitAtRandom, ratings, 0.5, 1),
  splitByTime: of(weir.splitByTime, ratings, 0.5),
  splitFolds: of(weir.splitFolds, ratings, 2, 1),
  splitLeaveLast: of(weir.splitLeaveLast, ratings, 1),
  chainFile: of(weir.chainFile, 'file'),
  'new RatingsSpill': made(weir.RatingsSpill),
  seededRandom: of(weir.seededRandom, 1),
  generateRatings: of((...options) =>
    (weir.generateRatings as typeof weir.generateRatings)(
      ...(options as unknown as [never]),
    ).next(),
  ),
  'new GeneratedWeights': made(weir.GeneratedWeights),
  'new LinearExamples': made(weir.LinearExamples),
  'new RatingsParser': made(weir.RatingsParser, fn),
  modelVersion: of(weir.modelVersion, 1),
  markerKey: of(weir.markerKey, 1),
  alsKey: of(weir.alsKey, '1', 'U'),
  parseAlsKey: of(weir.parseAlsKey, '1-U'),
  parseTextRow: of(weir.parseTextRow, '1,U,1;2', 1),
  publishAls: of(weir.publishAls, {}),
  publishLinear: of(weir.publishLinear, {}),
  publishModel: of(weir.publishModel, {}),
  publishableWeights: of(weir.publishableWeights, [1]),
  retrain: of(weir.retrain),
  'new RetrainLoop': made(weir.RetrainLoop),
  'new ModelRegistry': made(weir.ModelRegistry),
  'new VersionCoordinator': made(weir.VersionCoordinator),
  evaluateServed: {
    args: [],
    call: ({ client: reader }, ...args) =>
      (weir.evaluateServed as (...o: never[]) => unknown)(
        ...(args.length ? args : [reader as never]),
      ),
  },
  predictExamples: of((...args) =>
    (weir.predictExamples as (...o: never[]) => AsyncGenerator)(...args).next(),
  ),
  'new ServedClassifierQuality': made(weir.ServedClassifierQuality, true),
  'new Adwin': made(weir.Adwin),
  'new PageHinkley': made(weir.PageHinkley),

  // Accumulators.
  registerAccumulator: of(weir.registerAccumulator, () => new weir.IntCounter()),
  ...Object.fromEntries(
    [
      weir.AverageAccumulator,
      weir.DoubleCounter,
      weir.IntCounter,
      weir.LongCounter,
      weir.DoubleMaximum,
      weir.DoubleMinimum,
      weir.IntMaximum,
      weir.IntMinimum,
      weir.LongMaximum,
      weir.LongMinimum,
      weir.HistogramAccumulator,
    ].map((type: new () => { add(value: number): void }) => [
      `${type.name[0]!.toLowerCase()}${type.name.slice(1)}.add`,
      on(() => new type(), 'add', 1),
    ]),
  ),

  // Learning.
  'new LearningGate': made(learning.LearningGate as never, 1),
  'new ObservationsGate': made(learning.ObservationsGate as never, 1),
  'new InFlightLimit': made(learning.InFlightLimit, new SharedArrayBuffer(8), 1),
  'new LinearServingFunction': made(learning.LinearServingFunction, 1, false),
  'new ModelRowsOperator': made(learning.ModelRowsOperator, 2, 'fail', false),
  'new WeightRowsOperator': made(learning.WeightRowsOperator, 2, 'fail'),
  'new DriftMonitor': made(learning.DriftMonitor, 1),
  'new PrequentialError': made(learning.PrequentialError),
  'new OnlineLinearRule': made(learning.OnlineLinearRule),
  'new LibsvmParser': made(learning.LibsvmParser, fn),
  'new LearningCoordinator': made(learning.LearningCoordinator),
  'new SlotWeights': made(learning.SlotWeights),
  alsLearning: of(learning.alsLearning),
  linearLearning: of(learning.linearLearning),
  onlineRule: of(learning.onlineRule, { dimension: 2, biased: false }, { rule: 'sgd' }, fn),
  topicSink: of(
    learning.topicSink,
    { logDirectory: 'log' },
    { topic: 't', serialize: fn, guarantee: 'none', lingerMs: 1 },
  ),
  topicRecords: of(learning.topicRecords, undefined),
  resumeOffsetsOf: of(learning.resumeOffsetsOf, 1),
  quarantine: of(learning.quarantine, stream(), { logDirectory: 'log' }, 't'),
  placeIn: of(learning.placeIn, { logDirectory: 'log' }),
  deltasTopic: of(learning.deltasTopic, 'rows'),
  feedbackOf: of(learning.feedbackOf, {}),
  targetOf: of(learning.targetOf, 'explicit', 1),
  sleep: of(learning.sleep, clock, 1),

  // Tests.
  'new ManualClock': made(testing.ManualClock),
  'manualClock.after': on(manual, 'after', 1, fn),
  'manualClock.advance': on(manual, 'advance', 1),
  'manualClock.advanceTo': on(manual, 'advanceTo', 1),
  'new MiniCluster': made(testing.MiniCluster),
  'miniCluster.startLocal': on(cluster, 'startLocal', graph()),
  'miniCluster.startWorkers': on(cluster, 'startWorkers', new URL('file:///none.ts'), {}),
  'miniCluster.run': on(cluster, 'run', graph()),
  'OperatorHarness.open': of(testing.OperatorHarness.open),
  'StreamHarness.open': of(testing.StreamHarness.open, same),

  // Tracing.
  traceProgram: of(traceProgram, {}),
  withSpan: of(withSpan, 's', async () => {}),
}
