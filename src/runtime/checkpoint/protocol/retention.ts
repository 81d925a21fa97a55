import type { CheckpointManifest } from './checkpoint-types.ts'

/** Facts for the retention decision. */
export interface RetentionFacts {
  /** Completed checkpoints of the job (savepoints are never among them), in any order. */
  readonly completed: readonly CheckpointManifest[]
  /** How many of the newest to keep, at least 1. */
  readonly retained: number
  /** Segments to which a checkpoint of this job referred and which are not deleted yet. */
  readonly trackedFiles: Iterable<string>
  /** Segments that are in use: inputs and outputs of a compaction, files that are being copied. */
  readonly pinned: ReadonlySet<string>
}

/**
 * Decision what to delete: first the checkpoints, then the files, so that no manifest refers to a
 * deleted file.
 */
export interface RetentionDecision {
  readonly kept: readonly CheckpointManifest[]
  /** Oldest first. */
  readonly subsumed: readonly CheckpointManifest[]
  /** Files to which no kept checkpoint refers and which are not in use. */
  readonly unreferenced: readonly string[]
}

/** Decides which checkpoints to delete and to which files nothing refers afterwards. */
export function decideRetention(facts: RetentionFacts): RetentionDecision {
  const newestFirst = [...facts.completed].sort((a, b) => b.checkpointId - a.checkpointId)
  const count = Math.max(1, facts.retained)
  const kept = newestFirst.slice(0, count)
  const referenced = referencedFiles(kept)
  const unreferenced = [...facts.trackedFiles].filter(
    (path) => !referenced.has(path) && !facts.pinned.has(path),
  )
  return { kept, subsumed: newestFirst.slice(count).reverse(), unreferenced }
}

/** Paths of all segments to which the manifests refer. */
export function referencedFiles(manifests: readonly CheckpointManifest[]): Set<string> {
  const paths = new Set<string>()
  for (const manifest of manifests) {
    for (const operator of manifest.operators) {
      for (const segment of operator.segments) paths.add(segment.path)
    }
  }
  return paths
}
