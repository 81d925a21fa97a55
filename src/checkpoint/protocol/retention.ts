import type { CheckpointManifest } from './checkpoint-types.ts'

/** What is known when a checkpoint has become durable. */
export interface RetentionFacts {
  /** Completed checkpoints of the job (savepoints are never among them), in any order. */
  readonly completed: readonly CheckpointManifest[]
  /** How many of the newest to keep, at least 1. */
  readonly retained: number
  /** Segments that some checkpoint of this job referred to and that were not deleted yet. */
  readonly knownFiles: Iterable<string>
  /** Segments in use otherwise: inputs and outputs of a compaction, files being copied. */
  readonly pinned: ReadonlySet<string>
}

/** What to delete: first the checkpoints, then the files, so that no manifest outlives its files. */
export interface RetentionDecision {
  readonly kept: readonly CheckpointManifest[]
  /** Oldest first. */
  readonly subsumed: readonly CheckpointManifest[]
  /** Files that no kept checkpoint and nobody else refers to. */
  readonly unreferenced: readonly string[]
}

/** Which checkpoints to subsume and which files nothing refers to then. */
export function decideRetention(facts: RetentionFacts): RetentionDecision {
  const newestFirst = [...facts.completed].sort((a, b) => b.checkpointId - a.checkpointId)
  const count = Math.max(1, facts.retained)
  const kept = newestFirst.slice(0, count)
  const referenced = referencedFiles(kept)
  const unreferenced = [...facts.knownFiles].filter(
    (path) => !referenced.has(path) && !facts.pinned.has(path),
  )
  return { kept, subsumed: newestFirst.slice(count).reverse(), unreferenced }
}

/** Every segment that a manifest refers to. */
export function referencedFiles(manifests: readonly CheckpointManifest[]): Set<string> {
  const paths = new Set<string>()
  for (const manifest of manifests) {
    for (const operator of manifest.operators) {
      for (const segment of operator.segments) paths.add(segment.path)
    }
  }
  return paths
}
