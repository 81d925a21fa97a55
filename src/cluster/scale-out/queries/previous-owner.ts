import { PROCESS_PLACE, processIdentity, processState } from '../../../files/running-process.ts'
import { jobFilesOf } from '../../../runtime/checkpoint/coordinator/job-folder.ts'
import {
  decodeOwner,
  isSameProcess,
  type JobOwner,
} from '../../../runtime/checkpoint/protocol/job-owner.ts'
import type { CheckpointStorage } from '../../../runtime/checkpoint/storage/checkpoint-storage.ts'
import { epochPath } from '../../../runtime/checkpoint/storage/paths.ts'
import { NEVER_OWNED } from '../decisions/lease.ts'
import type { PreviousOwner } from './live-rights.ts'

/** The claim of this process on a job partition, and what is known of the one before it. */
export interface FoundClaim {
  readonly generation: number
  readonly previous: PreviousOwner
}

/**
 * Looks at the claims of a job partition in checkpoint storage, of which the newest is that of this process.
 * Undefined where it is that of another one, which has fenced this process. Throws STORAGE_FAILED.
 */
export async function findPrevious(
  storage: CheckpointStorage,
  jobId: string,
): Promise<FoundClaim | undefined> {
  const files = await storage.list(jobId)
  const { claims, released } = jobFilesOf(jobId, files)
  const generation = Math.max(0, ...claims)
  if (!(await isOwn(storage, jobId, generation))) return undefined
  if (generation === 1) return { generation, previous: { before: NEVER_OWNED, refuses: false } }
  const before = generation - 1
  const settled = settledPath(jobId, before)
  const wasSettled = files.some(({ path }) => path === settled)
  const owner = claims.includes(before) ? await claimantOf(storage, jobId, before) : undefined
  return {
    generation,
    previous: {
      before: { wasSettled, wasReleased: released.includes(before) },
      refuses: owner !== undefined && processState(owner) === 'ended',
    },
  }
}

/** Records that all leases of owners before a claim have ended, for the next owner. Throws STORAGE_FAILED. */
export async function markSettled(
  storage: CheckpointStorage,
  jobId: string,
  generation: number,
): Promise<void> {
  await storage.createExclusive(settledPath(jobId, generation), new Uint8Array(0))
  if (generation > 1) await storage.delete(settledPath(jobId, generation - 1))
}

/** Path of the file that says that an owner was settled, beside its claim. */
function settledPath(jobId: string, generation: number): string {
  return `${jobId}/settled-${generation}`
}

async function isOwn(
  storage: CheckpointStorage,
  jobId: string,
  generation: number,
): Promise<boolean> {
  if (generation === 0) return false
  const owner = await claimantOf(storage, jobId, generation)
  const self = { ...processIdentity(process.pid), ...PROCESS_PLACE, jobName: '', sinceMs: 0 }
  return owner !== undefined && isSameProcess(owner, self)
}

async function claimantOf(
  storage: CheckpointStorage,
  jobId: string,
  generation: number,
): Promise<JobOwner | undefined> {
  return decodeOwner(await storage.read(epochPath(jobId, generation)))
}
