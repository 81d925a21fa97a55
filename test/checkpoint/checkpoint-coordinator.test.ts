import { describe, expect, it } from 'vitest'
import { CheckpointCoordinator } from '../../src/checkpoint/checkpoint-coordinator.ts'
import { segmentPath } from '../../src/checkpoint/checkpoint-paths.ts'
import type { Barrier } from '../../src/checkpoint/protocol/checkpoint-types.ts'
import { SegmentWriter } from '../../src/checkpoint/segment-writer.ts'
import { seededRandom } from '../../src/core/random.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { MemoryCheckpointStorage } from '../../src/testing/memory-checkpoint-storage.ts'

const jobId = 'ab'.repeat(16)
describe('smoke', () => {
  it('completes', async () => {
    const storage = new MemoryCheckpointStorage()
    const barriers: Barrier[] = []
    const completed: number[] = []
    const coordinator = await CheckpointCoordinator.open({
      jobId,
      jobName: 'j',
      storage,
      clock: new ManualClock(),
      random: seededRandom(1),
      intervalMs: 100,
      gateway: {
        triggerBarrier: (b) => barriers.push(b),
        notifyCompleted: (id) => completed.push(id),
        notifyAborted() {},
        failJob(e) {
          throw e
        },
      },
    })
    expect(await coordinator.restorePoint(1)).toBeUndefined()
    coordinator.start(1, ['op#0'])
    const done = coordinator.triggerSavepoint()
    expect(barriers.length).toBe(1)
    const w = new SegmentWriter({
      storage,
      path: segmentPath({ jobId, generation: 1, attempt: 1, uid: 'op', subtask: 0, number: 1 }),
      keyGroups: { first: 0, last: 127 },
    })
    w.append(5, 's', new Uint8Array([1]), new Uint8Array([2]))
    const segment = await w.finish({ checkpointId: 1, full: true })
    expect(
      coordinator.onAck({
        jobId,
        attempt: 1,
        checkpointId: 1,
        task: 'op#0',
        timings: { startDelayMs: 0, alignmentMs: 0, syncMs: 0, asyncMs: 0 },
        operators: [
          {
            uid: 'op',
            subtask: 0,
            parallelism: 1,
            maxParallelism: 128,
            declarations: [],
            operatorState: [],
            segments: [segment],
          },
        ],
      }),
    ).toBe('completed')
    const path = await done
    expect(completed).toEqual([1])
    console.log([...storage.files.keys()], path, coordinator.statistics.recent())
  })
})
