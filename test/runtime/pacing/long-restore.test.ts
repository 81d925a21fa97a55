import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MemorySource } from '../../../src/connectors/memory/source.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import type { StreamGraph } from '../../../src/dataflow/stream-graph.ts'
import { boundedOutOfOrderness } from '../../../src/dataflow/watermark-strategy.ts'
import { TimerHeap } from '../../../src/state/timers/heap.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { until } from '../../run/until.ts'
import { checkpointFolder } from '../job-fixture.ts'

const TIMERS = 120_000
const DAY = 86_400_000

const { push } = TimerHeap.prototype
/** Timers that were put into a heap. */
let pushed = 0

beforeEach(() => {
  pushed = 0
  TimerHeap.prototype.push = function (timer) {
    pushed += 1
    push.call(this, timer)
  }
})

afterEach(() => {
  TimerHeap.prototype.push = push
})

/** A timer of each key that is far ahead. */
function graphOf(onRecord: () => void = () => {}): StreamGraph {
  const env = new StreamExecutionEnvironment({ parallelism: 1 })
  const keys = Array.from({ length: TIMERS }, (_, key) => key)
  env
    .fromSource(
      new MemorySource([keys], { bounded: false }),
      boundedOutOfOrderness(0, { timestampOf: (key: number) => key }),
    )
    .keyBy((key) => key)
    .process<number>(() => ({
      processElement(key, { timerService }) {
        timerService.registerEventTimeTimer(key * 7919 + DAY)
        onRecord()
      },
      onTimer() {},
    }))
    .discard()
  return env.graph('timers')
}

async function withSavepoint(
  use: (cluster: MiniCluster, savepoint: string) => Promise<void>,
): Promise<void> {
  using folder = checkpointFolder()
  await using cluster = new MiniCluster({
    configuration: { 'execution.checkpointing.dir': folder.path },
  })
  let records = 0
  const job = cluster.startLocal(graphOf(() => records++))
  await until('each key has a timer', () => records === TIMERS)
  const savepoint = await job.stopWithSavepoint()
  pushed = 0
  await use(cluster, savepoint)
}

describe('a restore of very many timers', () => {
  it('lets the slot do other work on its way', async () => {
    await withSavepoint(async (cluster, savepoint) => {
      const job = cluster.startLocal(graphOf(), { restoreFrom: savepoint })
      const byTurn: number[] = []
      const turn = (): void => {
        byTurn.push(pushed)
        if (pushed < TIMERS) setImmediate(turn)
      }
      turn()
      await job.waitFor('RUNNING')
      expect(pushed).toBe(TIMERS)
      const between = byTurn.map((count, n) => count - (byTurn[n - 1] ?? 0))
      // A slice is a millisecond, and a timer takes a fraction of a microsecond.
      expect(Math.max(...between)).toBeLessThan(TIMERS / 4)
      await job.cancel()
    })
  })

  it('ends when the job is canceled', async () => {
    await withSavepoint(async (cluster, savepoint) => {
      const job = cluster.startLocal(graphOf(), { restoreFrom: savepoint })
      await until('the restore is on its way', () => pushed > 0, { everyMs: 0 })
      await job.cancel()
      const atEnd = pushed
      expect(atEnd).toBeLessThan(TIMERS)
      // What goes on after a cancel would go on in the next turns.
      for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve))
      expect(pushed).toBe(atEnd)
    })
  })
})
