import { scanTopic } from '../connectors/topics/scan-topic.ts'
import type { TopicStore } from '../connectors/topics/topic-store.ts'
import type { Clock } from '../core/clock.ts'
import { keyLengthWithoutVersion, versionOfKeyBytes } from '../models/als-row.ts'
import {
  decodeMarker,
  encodeMarker,
  isMarkerKey,
  markerKey,
} from '../models/model-version-marker.ts'

/** Rows of versions that a scan found. */
interface FoundRow {
  readonly key: Uint8Array
  readonly partition: number
}

/**
 * Deletes the rows of versions from a model topic: a tombstone for every row, where it lies, and a
 * `retire` marker in place of the `ready` one, so that a job which reads the topic anew serves them no
 * more. Returns how many rows went.
 */
export async function retireVersions(
  topics: TopicStore,
  topic: string,
  versions: readonly number[],
  clock: Clock,
): Promise<number> {
  if (versions.length === 0) return 0
  const retired = new Set(versions)
  const { rows, markers } = await rowsOf(topics, topic, retired)
  const producer = await topics.producer(topic)
  const nowMs = clock.nowMs()
  try {
    for (const { key, partition, value } of markers.values()) {
      producer.sendRecord(key, value, nowMs, partition, [])
    }
    for (const { key, partition } of rows) {
      producer.sendRecord(key, null, nowMs, partition, [])
      if (!producer.ready()) await producer.whenReady()
    }
    await producer.sync()
  } finally {
    await producer.close()
  }
  return rows.length
}

const markerName = (key: Uint8Array, partition: number): string =>
  `${new TextDecoder().decode(key)}/${partition}`

async function rowsOf(
  topics: TopicStore,
  topic: string,
  retired: ReadonlySet<number>,
): Promise<{
  readonly rows: readonly FoundRow[]
  readonly markers: ReadonlyMap<string, FoundRow & { readonly value: Uint8Array }>
}> {
  const rows = new Map<string, FoundRow>()
  const markers = new Map<string, FoundRow & { readonly value: Uint8Array }>()
  await scanTopic(topics, topic, (record, partition) => {
    const key = record.key()?.slice()
    if (key === undefined) return true
    const name = markerName(key, partition)
    if (isMarkerKey(key)) {
      const value = record.value()
      const marker = value === null ? undefined : decodeMarker(value)
      if (marker === undefined || !retired.has(marker.version)) return true
      const bytes = encodeMarker({ ...marker, event: 'retire' })
      const markerBytes = new TextEncoder().encode(markerKey(marker.version))
      markers.set(name, { key: markerBytes, partition, value: bytes })
      return true
    }
    if (!retired.has(versionOfKeyBytes(key, keyLengthWithoutVersion(key)))) return true
    if (record.value() === null) rows.delete(name)
    else rows.set(name, { key, partition })
    return true
  })
  return { rows: [...rows.values()], markers }
}
