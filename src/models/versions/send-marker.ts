import type { TopicProducer } from '../../connectors/topics/store.ts'
import { encodeMarker, type ModelVersionMarker, markerKey } from '../registry/version-marker.ts'

const encoder = new TextEncoder()

/**
 * Sends a marker of a version to every partition, so that a reader of any of them has it. Throws INVALID_ARGUMENT if a
 * field of the marker is out of range.
 */
export function sendMarker(
  producer: Pick<TopicProducer, 'sendRecord'>,
  marker: ModelVersionMarker,
  { partitions, atMs }: { readonly partitions: number; readonly atMs: number },
): void {
  const value = encodeMarker(marker)
  const key = encoder.encode(markerKey(marker.version))
  for (let partition = 0; partition < partitions; partition++) {
    producer.sendRecord(key, value, atMs, partition, [])
  }
}
