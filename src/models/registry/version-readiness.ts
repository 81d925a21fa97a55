import type { ModelVersionMarker } from './version-marker.ts'

/** A marker with its position in the model topic. */
export interface PlacedMarker {
  readonly partition: number
  readonly offset: number
  readonly marker: ModelVersionMarker
}

/** Readiness of a version. */
export type VersionReadiness =
  /** The `ready` marker of some partition has not been read. */
  | { readonly kind: 'incomplete'; readonly missingPartitions: number }
  /** Every marker was read, but some slot has not applied all rows before them. */
  | { readonly kind: 'loading' }
  /** Every slot has applied every row. */
  | { readonly kind: 'ready' }

/** The offset of a partition below which a slot has applied all records. */
export type AppliedOffset = (slot: number, partition: number) => number

/**
 * Whether all rows of a version are applied everywhere: a `ready` marker follows the rows in every
 * partition that the topic had then, so the version is complete when every slot has applied all of its
 * markers. `facts.partitions` is used where markers do not have the number.
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
