import { scanTopic } from '../../connectors/topics/scan.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import type { Clock } from '../../core/clock.ts'
import {
  joinedRanges,
  rangesWithout,
  type VersionRanges,
} from '../registry/ranges/version-ranges.ts'
import {
  encodeMarker,
  isMarkerKey,
  type ModelVersionMarker,
  RETIRED_MARKERS,
  readableMarker,
  retireMarker,
} from '../registry/version-marker.ts'
import { keyLengthWithoutVersion, versionOfKeyBytes } from '../versioned-key.ts'
import { sendMarker } from '../versions/send-marker.ts'

/** Versions whose rows were deleted, and how many rows they had. */
export interface RetiredVersions {
  readonly numbers: readonly number[]
  readonly rows: number
}

/** A key in the partition that has it. */
interface PlacedKey {
  readonly key: Uint8Array
  readonly partition: number
}

/** What a scan found of the versions to retire, and of those that were retired before. */
interface FoundVersions {
  /** Rows to delete. */
  readonly rows: ReadonlyMap<string, PlacedKey>
  /** By partition, the markers of the versions to retire. */
  readonly markers: readonly (PlacedKey & { readonly marker: ModelVersionMarker })[]
  /** `retire` markers of the topic. */
  readonly retired: readonly (PlacedKey & { readonly version: number })[]
  /** Versions that were retired before and have no marker any more. */
  readonly forgotten: VersionRanges
}

/**
 * Deletes the rows of versions from a model topic: replaces their markers by `retire`, so that jobs drop them at once,
 * writes a tombstone for every row, into the row's partition, then `retire` again without `rowsLeft`. Deletes the
 * `retire` markers before the last `RETIRED_MARKERS`, so that the topic does not grow with the versions that it ever had.
 * Returns the number of deleted rows.
 */
export async function retireVersions(
  topics: TopicStore,
  topic: string,
  { versions, clock }: { readonly versions: readonly number[]; readonly clock: Clock },
): Promise<number> {
  if (versions.length === 0) return 0
  const found = await foundVersions(topics, topic, new Set(versions))
  const { old, forgotten } = forgetOldest(found)
  const producer = await topics.producer(topic)
  const sendMarkers = (rowsLeft: boolean): void => {
    for (const { key, partition, marker } of retirements(found, { forgotten, rowsLeft })) {
      producer.sendRecord(key, encodeMarker(marker), clock.nowMs(), partition, [])
    }
  }
  try {
    sendMarkers(true)
    await producer.sync()
    for (const { key, partition } of [...old, ...found.rows.values()]) {
      producer.sendRecord(key, null, clock.nowMs(), partition, [])
      if (!producer.ready()) await producer.whenReady()
    }
    // No partition may say that all is deleted before it is, in any of them.
    await producer.sync()
    sendMarkers(false)
    await producer.sync()
  } finally {
    await producer.close()
  }
  return found.rows.size
}

/** The `retire` markers of the versions, one for each partition that has a marker of it. */
function retirements(
  { markers }: FoundVersions,
  { forgotten, rowsLeft }: { readonly forgotten: VersionRanges; readonly rowsLeft: boolean },
): readonly (PlacedKey & { readonly marker: ModelVersionMarker })[] {
  const wasComplete = new Set(
    markers
      .filter(({ marker }) => marker.event !== 'announce' && marker.incomplete !== true)
      .map(({ marker }) => marker.version),
  )
  const left = rowsLeft ? { rowsLeft } : {}
  return markers.map(({ key, partition, marker }) => {
    const incomplete = wasComplete.has(marker.version) ? {} : { incomplete: true }
    return { key, partition, marker: retireMarker(marker, { forgotten, ...incomplete, ...left }) }
  })
}

/**
 * Says in the topic that versions were abandoned: jobs drop them at once. Their rows stay until a retention or the next
 * publication deletes them.
 */
export async function abandonVersions(
  topics: TopicStore,
  topic: string,
  { markers, clock }: { readonly markers: readonly ModelVersionMarker[]; readonly clock: Clock },
): Promise<void> {
  const { partitions } = await topics.describe(topic)
  const producer = await topics.producer(topic)
  try {
    for (const marker of markers) {
      const abandoned = retireMarker(marker, { incomplete: true, rowsLeft: true })
      sendMarker(producer, abandoned, { partitions, atMs: clock.nowMs() })
    }
    await producer.sync()
  } finally {
    await producer.close()
  }
}

/** The `retire` markers to delete, and all versions that then have none. */
function forgetOldest({ markers, retired, forgotten }: FoundVersions): {
  readonly old: readonly PlacedKey[]
  readonly forgotten: VersionRanges
} {
  const unmarked = { old: [], forgotten }
  // The list of forgotten versions is in the markers that are written now.
  if (markers.length === 0) return unmarked
  const now = markers.map(({ marker }) => marker.version)
  const all = [...new Set([...now, ...retired.map(({ version }) => version)])]
  const kept = new Set(all.sort((a, b) => a - b).slice(-RETIRED_MARKERS))
  const old = retired.filter(({ version }) => !kept.has(version))
  const ranges = old.map(({ version }): VersionRanges => [[version, version]])
  return { old, forgotten: joinedRanges([forgotten, ...ranges]) }
}

const placeOf = (key: Uint8Array, partition: number): string =>
  `${Buffer.from(key).toString('latin1')}/${partition}`

async function foundVersions(
  topics: TopicStore,
  topic: string,
  versions: ReadonlySet<number>,
): Promise<FoundVersions> {
  const rows = new Map<string, PlacedKey>()
  const markers = new MarkerScan()
  await scanTopic(topics, topic, (record, partition) => {
    const key = record.key()?.slice()
    if (key === undefined) return true
    if (isMarkerKey(key)) {
      const value = record.value()
      const marker = value === null ? undefined : readableMarker(value)
      if (value === null || marker !== undefined) markers.add(marker, { key, partition })
    } else if (versions.has(versionOfKeyBytes(key, keyLengthWithoutVersion(key)))) {
      if (record.value() === null) rows.delete(placeOf(key, partition))
      else rows.set(placeOf(key, partition), { key, partition })
    }
    return true
  })
  return { rows, ...markers.found(versions) }
}

/** The last marker of each version and partition, and the versions that have none any more. */
class MarkerScan {
  private readonly last = new Map<string, PlacedKey & { readonly marker: ModelVersionMarker }>()
  private forgotten: VersionRanges = []

  add(marker: ModelVersionMarker | undefined, place: PlacedKey): void {
    const name = placeOf(place.key, place.partition)
    if (marker === undefined) {
      this.last.delete(name)
      return
    }
    this.last.set(name, { ...place, marker })
    this.forgotten = joinedRanges([this.forgotten, marker.forgotten ?? []])
  }

  found(versions: ReadonlySet<number>): Omit<FoundVersions, 'rows'> {
    const all = [...this.last.values()]
    const retired = all
      .filter(({ marker }) => isDeleted(marker) && !versions.has(marker.version))
      .map(({ key, partition, marker }) => ({ key, partition, version: marker.version }))
    // A forgotten version that has a marker was published again.
    const published = all.filter(({ marker }) => marker.event !== 'retire')
    const forgotten = published.reduce(
      (ranges, { marker }) => rangesWithout(ranges, marker.version),
      this.forgotten,
    )
    return { markers: all.filter(({ marker }) => versions.has(marker.version)), retired, forgotten }
  }
}

/** Whether the marker is all that is left of a version. */
function isDeleted({ event, rowsLeft }: ModelVersionMarker): boolean {
  return event === 'retire' && rowsLeft !== true
}
