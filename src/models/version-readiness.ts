import type { ModelVersionMarker } from './model-version-marker.ts'

/** A marker with the place where it stood in the model topic. */
export interface PlacedMarker {
  readonly partition: number
  readonly offset: number
  readonly marker: ModelVersionMarker
}

/** What is known of a version. */
export type VersionReadiness =
  /** Some partition has not shown its `ready` marker. */
  | { readonly kind: 'incomplete'; readonly missingPartitions: number }
  /** Every marker was seen, but some slot has not applied all rows before them. */
  | { readonly kind: 'loading' }
  /** Every slot has applied every row. */
  | { readonly kind: 'ready' }

/** How far a slot has applied a partition: all records below this offset. */
export type AppliedOffset = (slot: number, partition: number) => number

/**
 * Whether all rows of a version are applied everywhere: a `ready` marker follows the rows in every
 * partition that the topic had then, so the version is complete once every slot is past all of its
 * markers. `facts.partitions` counts where markers do not tell their number.
 */
export function versionReadiness(
  markers: readonly PlacedMarker[],
  facts: { readonly partitions: number; readonly slots: number; readonly applied: AppliedOffset },
): VersionReadiness {
  const byPartition = new Map(markers.map((placed) => [placed.partition, placed.offset]))
  const partitions = markers[0]?.marker.partitions ?? facts.partitions
  if (byPartition.size < partitions) {
    return { kind: 'incomplete', missingPartitions: partitions - byPartition.size }
  }
  for (const [partition, offset] of byPartition) {
    for (let slot = 0; slot < facts.slots; slot++) {
      if (facts.applied(slot, partition) <= offset) return { kind: 'loading' }
    }
  }
  return { kind: 'ready' }
}
