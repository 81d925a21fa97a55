import { crc32c } from '../../../core/hash/crc32c.ts'
import type { Assignment } from './assignment-data.ts'
import type { JobIdentity } from './member-data.ts'

/** Checksum of an identity, by which a process finds that an assignment is for another job. */
export function identityChecksum(job: JobIdentity): number {
  const { fingerprint, storageId, cluster, partitions, maxParallelism } = job
  const text = [fingerprint, storageId, cluster, partitions, maxParallelism].join(' ')
  return crc32c(new TextEncoder().encode(text))
}

/** What a process sent, to which an assignment should be the answer. */
export interface SentJoin {
  readonly joinId: number
  readonly job: JobIdentity
}

/** What an assignment is to the process that got it. */
export type AssignmentVerdict =
  /** The leader made it from what this process said. */
  | 'current'
  /**
   * It was made before: a process that returns under its `group.instance.id` gets what was last given to that name,
   * and no round begins (KIP-345). It counts, since its predecessor is fenced; the process joins once more, so that
   * the leader hears of it.
   */
  | 'earlier'
  /** It was made before, for another job: nothing of it counts, and the process joins once more to be judged. */
  | 'foreign'

/** Judges whether an assignment answers the JoinGroup of this process. */
export function judgeAssignment(assignment: Assignment, sent: SentJoin): AssignmentVerdict {
  if (assignment.joinId === sent.joinId) return 'current'
  const isSame = assignment.identity === identityChecksum(sent.job)
  return assignment.refusal === undefined && isSame ? 'earlier' : 'foreign'
}
