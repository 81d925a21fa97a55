/**
 * Fencing. Every coordinator claims a generation by creating a file that must not exist, and every
 * attempt of the job, before it restores, records the checkpoint that it goes on from. A manifest is
 * valid only if no later (generation, attempt) went on from an older checkpoint: such a manifest was
 * written by a coordinator that had been fenced, or in a call that was believed to have failed, and
 * the job's history has left it aside.
 *
 * Why this is safe: a coordinator announces a checkpoint only when it has written the manifest and
 * has THEN seen no newer generation. So what was announced was written before any newer claim, and
 * a newer coordinator, which lists manifests after its claim, sees it.
 */

/** A manifest as far as fencing is concerned. */
export interface FencedManifest {
  readonly generation: number
  readonly attempt: number
  readonly checkpointId: number
}

/** An attempt and the checkpoint it went on from; 0 when from nothing or from a foreign one. */
export interface RestoreRecord {
  readonly generation: number
  readonly attempt: number
  readonly checkpointId: number
}

/** Whether the job's history goes through this checkpoint. */
export function isValidManifest(
  manifest: FencedManifest,
  records: readonly RestoreRecord[],
): boolean {
  return records.every(
    (record) => !isLater(record, manifest) || manifest.checkpointId <= record.checkpointId,
  )
}

/** Whether `record` was made after the attempt that wrote `manifest` was over. */
function isLater(record: RestoreRecord, manifest: FencedManifest): boolean {
  return (
    record.generation > manifest.generation ||
    (record.generation === manifest.generation && record.attempt > manifest.attempt)
  )
}
