import { describe, expect, it } from 'vitest'
import { GeneratorSource } from '../../../src/connectors/memory/generator-source.ts'
import type { DataStream } from '../../../src/dataflow/data-stream.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import type { StreamGraph } from '../../../src/dataflow/stream-graph.ts'
import { boundedOutOfOrderness } from '../../../src/dataflow/watermark-strategy.ts'
import type { FunctionInitializationContext } from '../../../src/operators/process/function-life.ts'
import {
  eventTimeSessionWindows,
  globalWindows,
  slidingEventTimeWindows,
  tumblingEventTimeWindows,
  tumblingProcessingTimeWindows,
  type WindowAssigner,
} from '../../../src/operators/windows/assigner.ts'
import { listState, mapState } from '../../../src/state/port/descriptors.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { until } from '../../run/until.ts'
import { checkpointFolder } from '../job-fixture.ts'

const DAY_MS = 86_400_000

/** What a job does with its numbers, in an operator with the uid "op". */
type Step = (numbers: DataStream<number>) => DataStream<number>

const list =
  (method: 'getListState' | 'getUnionListState', name: string): Step =>
  (numbers) =>
    numbers.process<number>(() => {
      let add: (n: number) => void
      return {
        initializeState(context: FunctionInitializationContext) {
          const state = context[method](listState<number>(name))
          add = (n) => state.add(n)
        },
        processElement: (n) => add(n),
      }
    })

const broadcast =
  (name: string): Step =>
  (numbers) => {
    const rules = mapState<string, number>(name)
    return numbers.connect(numbers.broadcast(rules)).process<number>(() => ({
      processElement() {},
      processBroadcastElement: (n, context) => context.getBroadcastState(rules).put('last', n),
    }))
  }

const timers: Step = (numbers) =>
  numbers
    .keyBy((n) => n)
    .process<number>(() => ({
      processElement: (n, { timerService }) => timerService.registerEventTimeTimer(n + DAY_MS),
      onTimer() {},
    }))

const keyedMap: Step = (numbers) => numbers.keyBy((n) => n).map((n) => n)
const map: Step = (numbers) => numbers.map((n) => n)

const windows =
  (assigner: WindowAssigner): Step =>
  (numbers) =>
    numbers
      .keyBy((n) => n % 3)
      .window(assigner)
      .process<number>(() => ({ process: () => undefined }))

const tumbling = windows(tumblingEventTimeWindows(DAY_MS))
const sessions = windows(eventTimeSessionWindows(DAY_MS))

function graphOf(step: Step, onRecord: () => void = () => undefined): StreamGraph {
  const env = new StreamExecutionEnvironment({ parallelism: 2 })
  const source = new GeneratorSource<number>({
    generate: (index) => {
      onRecord()
      return index
    },
    ratePerSecond: 2_000,
  })
  const numbers = env
    .fromSource(source, boundedOutOfOrderness(0, { timestampOf: (n) => n }), 'numbers')
    .uid('numbers')
  step(numbers).uid('op').discard()
  return env.graph('changed')
}

/** Stops a job with a savepoint, and starts another one from it; resolves when that runs, and rejects with its failure. */
async function change(
  cluster: MiniCluster,
  [before, after]: readonly [Step, Step],
  allowNonRestoredState = false,
): Promise<string> {
  let records = 0
  const first = cluster.startLocal(graphOf(before, () => (records += 1)))
  await until('each subtask has state', () => records >= 20)
  const savepoint = await first.stopWithSavepoint()
  await first.result
  const second = cluster.startLocal(graphOf(after), {
    restoreFrom: savepoint,
    allowNonRestoredState,
  })
  second.result.catch(() => undefined)
  const status = await second.waitFor('RUNNING', 'FAILED')
  if (status === 'FAILED') await second.result
  return await second.stopWithSavepoint()
}

const LOST: Readonly<Record<string, readonly [change: readonly [Step, Step], names: string]>> = {
  'a list that is renamed': [
    [list('getListState', 'open'), list('getListState', 'opened')],
    'state "function/open" of operator op',
  ],
  'a union list that is renamed': [
    [list('getUnionListState', 'open'), list('getUnionListState', 'opened')],
    'state "function/open" of operator op',
  ],
  'a list of an operator that has none now': [
    [list('getListState', 'open'), map],
    'state "function/open" of operator op',
  ],
  'a broadcast state that is renamed': [
    [broadcast('rules'), broadcast('laws')],
    'state "rules" of operator op',
  ],
  'timers of an operator that has none now': [[timers, keyedMap], 'timers'],
  'a tumbling window that becomes a session': [
    [tumbling, sessions],
    'holds windows of fixed size in event time of operator op',
  ],
  'a session that becomes a tumbling window': [[sessions, tumbling], 'of operator op'],
  'a tumbling window that becomes a global one': [
    [tumbling, windows(globalWindows())],
    'holds windows of fixed size in event time of operator op',
  ],
  'a window of event time that becomes one of the wall clock': [
    [tumbling, windows(tumblingProcessingTimeWindows(DAY_MS))],
    'holds windows of fixed size in event time of operator op',
  ],
}

describe('state of a savepoint that no operator claims', () => {
  it.each(Object.entries(LOST))('is refused: %s', async (_, [steps, names]) => {
    using folder = checkpointFolder()
    const configuration = { 'execution.checkpointing.dir': folder.path }
    await using cluster = new MiniCluster({ configuration })
    const refused: unknown = await change(cluster, steps).catch((error) => error)
    expect(refused).toMatchObject({
      code: 'JOB_FAILED',
      details: { code: 'STATE_LEFT_OVER' },
      message: expect.stringContaining('--allow-non-restored-state'),
    })
    expect((refused as Error).message).toContain(names)
    expect((refused as Error).message).toMatch(/of operator op \((?!0 )\d+ bytes\)/)
    // With the flag it is dropped, so that the next start needs none.
    const without = await change(cluster, steps, true)
    const third = cluster.startLocal(graphOf(steps[1]), { restoreFrom: without })
    await third.waitFor('RUNNING', 'FAILED')
    await third.stopWithSavepoint()
    await third.result
  })

  it('is not there where the operator stays what it is, or its windows get another size', async () => {
    using folder = checkpointFolder()
    const configuration = { 'execution.checkpointing.dir': folder.path }
    await using cluster = new MiniCluster({ configuration })
    for (const [step] of Object.values(LOST).map(([steps]) => steps)) {
      await change(cluster, [step, step])
    }
    await change(cluster, [tumbling, windows(slidingEventTimeWindows(2 * DAY_MS, DAY_MS))])
    await change(cluster, [map, keyedMap])
  })
})
