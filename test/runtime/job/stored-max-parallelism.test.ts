import { describe, expect, it } from 'vitest'
import { encodeManifest } from '../../../src/runtime/checkpoint/manifest/format.ts'
import type { SegmentReference } from '../../../src/runtime/checkpoint/protocol/checkpoint-types.ts'
import { manifestPath } from '../../../src/runtime/checkpoint/storage/paths.ts'
import { storedMaxParallelism } from '../../../src/runtime/job/stored-max-parallelism.ts'
import { MemoryCheckpointStorage } from '../../../src/testing/memory-checkpoint-storage.ts'

const JOB = 'ab'.repeat(16)

/** Storage with checkpoints of one keyed operator for each max parallelism. */
function storageWith(
  checkpoints: Readonly<Record<string, readonly number[]>>,
): MemoryCheckpointStorage {
  const storage = new MemoryCheckpointStorage()
  for (const [folder, maxima] of Object.entries(checkpoints)) {
    const segment: SegmentReference = {
      path: 'x',
      bytes: 1,
      checksum: 0,
      entries: 1,
      keyGroups: { first: 0, last: 1 },
      checkpointId: 1,
      sequence: 0,
      full: true,
    }
    const operators = maxima.map((maxParallelism, i) => ({
      uid: `op-${i}`,
      parallelism: 1,
      maxParallelism,
      declarations: [],
      segments: [segment],
      operatorState: [],
    }))
    const bytes = encodeManifest({
      jobId: JOB,
      jobName: 'job',
      attempt: 1,
      generation: 1,
      checkpointId: 1,
      kind: 'checkpoint',
      triggeredAtMs: 0,
      completedAtMs: 0,
      operators,
    })
    storage.files.set(manifestPath(folder), bytes)
  }
  return storage
}

describe('storedMaxParallelism', () => {
  const job = { jobId: JOB, from: undefined, parallelism: 2 }

  it('is that of the newest checkpoint that can be read', async () => {
    const storage = storageWith({ [`${JOB}/chk-9`]: [256, 256], [`${JOB}/chk-10`]: [512] })
    expect(await storedMaxParallelism({ ...job, storage })).toBe(512)
    storage.files.set(manifestPath(`${JOB}/chk-10`), new Uint8Array(3))
    expect(await storedMaxParallelism({ ...job, storage })).toBe(256)
  })

  it('is that of the savepoint that is named', async () => {
    const storage = storageWith({ [`${JOB}/chk-1`]: [128], 'savepoints/s': [64] })
    expect(await storedMaxParallelism({ ...job, storage, from: 'savepoints/s' })).toBe(64)
  })

  it('is undefined without a checkpoint, and when operators differ', async () => {
    expect(await storedMaxParallelism({ ...job, storage: storageWith({}) })).toBeUndefined()
    const storage = storageWith({ [`${JOB}/chk-1`]: [128, 256] })
    expect(await storedMaxParallelism({ ...job, storage })).toBeUndefined()
  })

  it('refuses a parallelism above it, with the flag to change', async () => {
    const storage = storageWith({ [`${JOB}/chk-1`]: [128] })
    const start = storedMaxParallelism({ ...job, storage, parallelism: 200 })
    await expect(start).rejects.toMatchObject({ code: 'MAX_PARALLELISM_CHANGED' })
    await expect(start).rejects.toThrow('--slots')
  })
})
