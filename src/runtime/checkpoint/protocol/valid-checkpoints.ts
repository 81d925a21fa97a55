/*
 * Fencing. Every coordinator claims a generation by creating a file that must not exist. Every attempt
 * of the job records, before it restores, the checkpoint that it restores. A manifest is valid only if
 * no later (generation, attempt) restored an older checkpoint. An invalid manifest was written by a
 * fenced coordinator, or by a call that seemed to fail; the job continued from another checkpoint.
 *
 * Why this is safe: a coordinator announces a checkpoint only after it has written the manifest and
 * has THEN seen no newer generation. So an announced manifest was written before any newer claim, and
 * a newer coordinator, which lists manifests after its claim, sees it.
 *
 * Completion records. After its manifest is durable, and before it is announced, a checkpoint gets a
 * record that it completed; the record is deleted, durably, before the manifest is. So a record without
 * a manifest means that the manifest was lost. The record may be missing: a process that died between
 * the two, or an older build, leaves a manifest without one.
 *
 * Old claims and records are deleted, the oldest generation first, once no manifest that counts is of
 * their generation or an older one. A manifest of a generation below the oldest claim that is left was
 * therefore written by a fenced coordinator, and is invalid without a record.
 */

/** The fields of a manifest that fencing needs. */
export interface FencedManifest {
  readonly generation: number
  readonly attempt: number
  readonly checkpointId: number
}

/** A checkpoint that completed, and the attempt that took it. */
export type CompletionRecord = FencedManifest

/** An attempt and the checkpoint of this job that it restored; 0 for none, or for a savepoint. */
export interface RestoreRecord {
  readonly generation: number
  readonly attempt: number
  readonly checkpointId: number
}

/**
 * Whether the checkpoint is part of the job's history. `oldestClaim` is the lowest generation whose
 * claim is still there.
 */
export function isValidManifest(
  manifest: FencedManifest,
  records: readonly RestoreRecord[],
  oldestClaim = 0,
): boolean {
  if (manifest.generation < oldestClaim) return false
  return records.every(
    (record) => !isLater(record, manifest) || manifest.checkpointId <= record.checkpointId,
  )
}

/**
 * Completion records whose manifest was lost, oldest first. `stored` are the ids of all manifests,
 * `counting` the checkpoints that can be restored. A record does not count when all of these are of later
 * generations: their coordinators have looked at it, or are of a build that does not delete records.
 */
export function lostManifests(facts: {
  readonly completions: readonly CompletionRecord[]
  readonly stored: ReadonlySet<number>
  readonly counting: readonly FencedManifest[]
}): readonly CompletionRecord[] {
  const { completions, stored, counting } = facts
  const isSuperseded = ({ generation }: CompletionRecord): boolean =>
    counting.length > 0 && counting.every((manifest) => manifest.generation > generation)
  return completions
    .filter((record) => !stored.has(record.checkpointId) && !isSuperseded(record))
    .sort((a, b) => a.checkpointId - b.checkpointId)
}

/** Claims and restore records that no later decision needs. */
export interface OutdatedRecords {
  /** Generations whose claims are deleted, in this order: the oldest first. */
  readonly claims: readonly number[]
  /** Generations that were given up; deleted after the claims. */
  readonly released: readonly number[]
  /** Deleted after the claims. */
  readonly records: readonly RestoreRecord[]
}

/**
 * Decides which claims and records are outdated: those of generations below every manifest that counts
 * and below the generation before `present`, whose coordinator may still look for its successor. The
 * record with the highest checkpoint id stays, so that no id is given twice.
 */
export function decideOutdated(facts: {
  readonly present: number
  readonly claims: readonly number[]
  readonly released: readonly number[]
  readonly records: readonly RestoreRecord[]
  readonly counting: readonly FencedManifest[]
}): OutdatedRecords {
  const { present, claims, released, records, counting } = facts
  const oldest = Math.min(present - 1, ...counting.map(({ generation }) => generation))
  const highestId = Math.max(0, ...records.map(({ checkpointId }) => checkpointId))
  const keeper = records.find(({ checkpointId }) => checkpointId === highestId)
  return {
    claims: claims.filter((generation) => generation < oldest).sort((a, b) => a - b),
    released: released.filter((generation) => generation < oldest),
    records: records.filter((record) => record.generation < oldest && record !== keeper),
  }
}

/** Whether `record` was made after the attempt that wrote `manifest` was over. */
function isLater(record: RestoreRecord, manifest: FencedManifest): boolean {
  return (
    record.generation > manifest.generation ||
    (record.generation === manifest.generation && record.attempt > manifest.attempt)
  )
}
