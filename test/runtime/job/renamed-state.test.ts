import { describe, expect, it } from 'vitest'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { int53Serializer } from '../../../src/core/serializer.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import type { StreamGraph } from '../../../src/dataflow/stream-graph.ts'
import { valueState } from '../../../src/state/port/descriptors.ts'
import type { ValueState } from '../../../src/state/port/handles.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { checkpointFolder } from '../job-fixture.ts'

/** Counts by key in a state of this name. */
function graphWith(stateName: string): StreamGraph {
  const env = new StreamExecutionEnvironment({ parallelism: 2 })
  env
    .fromElements([1, 2, 3, 4])
    .uid('numbers')
    .keyBy((n) => n)
    .process<number>(() => {
      let count: ValueState<number>
      return {
        open(context) {
          count = context.getState(valueState(stateName, { serializer: int53Serializer }))
        },
        processElement(_n, _context, out) {
          const next = (count.value() ?? 0) + 1
          count.update(next)
          out.collect(next)
        },
      }
    })
    .uid('counter')
    .sinkTo(new MemorySink())
    .uid('results')
  return env.graph('renamed')
}

describe('a state that is renamed under the same uid', () => {
  it('is refused with its name, unless non-restored state is allowed', async () => {
    using folder = checkpointFolder()
    const configuration = { 'execution.checkpointing.dir': folder.path }
    await using cluster = new MiniCluster({ configuration })
    const jobId = 'f'.repeat(32)
    await cluster.run(graphWith('open-session'), { jobId })
    const renamed = cluster.startLocal(graphWith('open-session2'), { jobId })
    await expect(renamed.result).rejects.toMatchObject({
      code: 'JOB_FAILED',
      details: { code: 'STATE_LEFT_OVER' },
      message: expect.stringContaining('state "open-session" of operator counter'),
    })
    expect(renamed.attempt).toBe(1)
    await cluster.run(graphWith('open-session2'), { jobId, allowNonRestoredState: true })
    await cluster.run(graphWith('open-session'), { jobId, allowNonRestoredState: true })
  })
})
