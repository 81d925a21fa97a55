import * as weir from '../../../../src/index.ts'
import * as testing from '../../../../src/testing/index.ts'
import { DiscardingOperator } from '../discarding-operator.ts'
import { type ArgumentsCalls, made, methodsOf, of, on } from './call.ts'

const fn = (): void => {}
const same = (value: unknown): unknown => value
const manual = () => new testing.ManualClock(0)
const cluster = () => new testing.MiniCluster()
const graph = () => {
  const job = new weir.StreamExecutionEnvironment()
  job.fromElements([1]).discard()
  return job.graph()
}

const tag = new weir.OutputTag('late')
const operator = async () =>
  await testing.OperatorHarness.open({ operator: new DiscardingOperator() })
const numbers = async () =>
  await testing.StreamHarness.open<[number], number>((input) => input.map((n) => n))
const keys = weir.float64Serializer
const states = [weir.mapState('rules')]
const last = weir.valueState<number>('last')
/** A harness with queryable state. */
const storing = async () => {
  const harness = await testing.StreamHarness.open<[number], number>((input) => {
    input
      .keyBy((n) => n)
      .asQueryableState('LAST', last)
      .uid('last')
    return input.map((n) => n)
  })
  return harness.states
}
const broadcasting = async () => {
  const harness = await testing.StreamHarness.open<[number], number>((input) =>
    input
      .connect(input.broadcast(states[0]!))
      .process<number>(() => ({ processElement: fn, processBroadcastElement: fn }))
      .uid('rules'),
  )
  return harness.states
}
const processing = {
  processElement: fn,
  processElement1: fn,
  processElement2: fn,
  processBroadcastElement: fn,
}

/** Calls of the tools for tests. */
export const TESTING_CALLS: ArgumentsCalls = {
  'new ManualClock': made(testing.ManualClock),
  'manualClock.after': on(manual, 'after', 1, fn),
  'manualClock.advance': on(manual, 'advance', 1),
  'manualClock.advanceTo': on(manual, 'advanceTo', 1),
  'new MiniCluster': made(testing.MiniCluster),
  'miniCluster.startLocal': on(cluster, 'startLocal', graph()),
  'miniCluster.startWorkers': on(cluster, 'startWorkers', new URL('file:///none.ts'), {}),
  'miniCluster.run': on(cluster, 'run', graph()),
  ...methodsOf(
    'operatorHarness',
    operator,
    ['sideOutput', tag],
    ['process', 1, 0],
    ['watermark', 0],
    ['advanceTime', 1],
    ['endInput'],
    ['snapshot'],
    ['completeCheckpoint'],
  ),
  ...methodsOf(
    'streamHarness',
    numbers,
    ['sideOutput', tag],
    ['process', 1, 0],
    ['watermark', 0],
    ['advanceTime', 1],
    ['snapshot'],
  ),
  ...methodsOf('jobHarness', async () => await testing.JobHarness.open(graph()), ['checkpoint', 1]),
  ...methodsOf(
    'memoryCheckpointStorage',
    () => new testing.MemoryCheckpointStorage(),
    ['createWriter', 'a'],
    ['ensureDurable', 'a'],
    ['createExclusive', 'a', new Uint8Array()],
    ['read', 'a'],
    ['list', 'a'],
    ['delete', 'a'],
  ),
  'harnessStates.of': on(storing, 'of', last, 1, 'last'),
  'harnessStates.queryable': on(storing, 'queryable', 'LAST', 1, 'last'),
  'harnessStates.broadcast': on(broadcasting, 'broadcast', states[0], 'rules'),
  interleavings: {
    args: [[[1], [2]], {}],
    call: (_, ...args) => (testing.interleavings as (...o: never[]) => Generator)(...args).next(),
  },
  'new ProcessOperator': made(testing.ProcessOperator as never, processing),
  'new CoProcessOperator': made(testing.CoProcessOperator as never, processing),
  'new KeyedProcessOperator': made(testing.KeyedProcessOperator as never, processing, keys, true),
  'new KeyedCoProcessOperator': made(
    testing.KeyedCoProcessOperator as never,
    processing,
    keys,
    true,
  ),
  'new BroadcastProcessOperator': made(
    testing.BroadcastProcessOperator as never,
    processing,
    states,
  ),
  'new KeyedBroadcastProcessOperator': made(
    testing.KeyedBroadcastProcessOperator as never,
    processing,
    keys,
    { eventTime: true, states },
  ),
  'OperatorHarness.open': of(testing.OperatorHarness.open),
  'StreamHarness.open': of(testing.StreamHarness.open, same),
  'JobHarness.open': of(testing.JobHarness.open, graph()),
  parseTimedEvents: of(testing.parseTimedEvents, ''),
  testRestores: of(testing.testRestores, graph, []),
}
