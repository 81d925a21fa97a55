import { WeirError } from '../../core/errors.ts'
import type { RestoreFrom } from '../checkpoint/coordinator/lineage.ts'
import { readManifest } from '../checkpoint/manifest/read.ts'
import type { CheckpointManifest } from '../checkpoint/protocol/checkpoint-types.ts'
import type { CheckpointStorage } from '../checkpoint/storage/checkpoint-storage.ts'
import { checkpointFolder, classifyPath } from '../checkpoint/storage/paths.ts'

/** Where the number of key groups is looked up. */
export interface StoredJob {
  readonly storage: CheckpointStorage
  readonly jobId: string
  /** What the job restores, a path of storage; undefined for its latest checkpoint. */
  readonly from: RestoreFrom | undefined
  readonly parallelism: number
  /** Checkpoints that completed before this time, ms since 1970, are left out. @default 0 */
  readonly sinceMs?: number
}

/**
 * The max parallelism of the checkpoint that a job is about to restore, for a job that sets none, as in
 * Flink. Undefined without a checkpoint that can be read (the restore then says what is wrong), or if
 * its operators differ. Throws MAX_PARALLELISM_CHANGED when the job's parallelism is above it.
 */
export async function storedMaxParallelism(job: StoredJob): Promise<number | undefined> {
  const manifest = await readable(job)
  const keyed = manifest?.operators.filter(({ segments }) => segments.length > 0) ?? []
  const [stored, ...others] = new Set(keyed.map(({ maxParallelism }) => maxParallelism))
  if (stored === undefined || others.length > 0) return undefined
  if (job.parallelism <= stored) return stored
  throw new WeirError(
    'MAX_PARALLELISM_CHANGED',
    `the checkpoint that the job restores has max parallelism ${stored}, and the job has parallelism ${job.parallelism}; set a parallelism of at most ${stored} (parallelism.default, --slots)`,
  )
}

async function readable({
  storage,
  jobId,
  from,
  sinceMs = 0,
}: StoredJob): Promise<CheckpointManifest | undefined> {
  try {
    if (typeof from === 'string') return await readManifest(storage, from)
    for (const id of (await checkpointIds(storage, jobId)).sort((a, b) => b - a)) {
      const manifest = await readManifest(storage, checkpointFolder(jobId, id)).catch(
        () => undefined,
      )
      if (manifest !== undefined && manifest.completedAtMs >= sinceMs) return manifest
    }
  } catch {
    // The restore reads the same files again and reports the error.
  }
  return undefined
}

async function checkpointIds(storage: CheckpointStorage, jobId: string): Promise<number[]> {
  const stored = (await storage.list(jobId)).map(({ path }) => classifyPath(jobId, path))
  return stored.flatMap((file) => (file.kind === 'manifest' ? [file.checkpointId] : []))
}
