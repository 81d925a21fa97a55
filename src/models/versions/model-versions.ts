import type { RecordView } from '../../connectors/records/topic-record.ts'
import { scanTopic } from '../../connectors/topics/scan.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import { hasVersion, joinedRanges, type VersionRanges } from '../registry/ranges/version-ranges.ts'
import {
  type TopicVersion,
  type UnfinishedVersion,
  unfinishedVersion,
} from '../registry/unfinished.ts'
import type { RegisteredVersion } from '../registry/version.ts'
import {
  isMarkerKey,
  type ModelVersionMarker,
  readableMarker,
  versionOfMarkerKey,
} from '../registry/version-marker.ts'
import { machineProcesses } from '../topic/publication.ts'
import { keyLengthWithoutVersion, versionOfKeyBytes } from '../versioned-key.ts'

/** What a model topic says of its versions. */
export interface PublishedVersions {
  /** The highest number that a version has, or had. */
  readonly highest: number
  /** Whether a version is or was complete. */
  readonly isComplete: (version: number) => boolean
  /** Markers of the versions that are complete, ascending. */
  readonly ready: readonly ModelVersionMarker[]
  /** Every version with a marker, ascending; retired ones, too. */
  readonly all: readonly TopicVersion[]
}

/** Reads the markers of a topic, which is read whole; none if it does not exist. */
export async function publishedVersions(
  topics: TopicStore,
  topic: string,
): Promise<PublishedVersions> {
  const scan = new VersionScan()
  if (await topics.has(topic)) {
    await scanTopic(topics, topic, (record, partition) => {
      const key = record.key()
      if (key === null) return true
      if (isMarkerKey(key)) scan.marker(versionOfMarkerKey(key), record, partition)
      else scan.row(key, record.value())
      return true
    })
  }
  return scan.found()
}

/** Markers of the complete versions of a model topic, ascending; the topic is read whole. */
export async function readyVersions(
  topics: TopicStore,
  topic: string,
): Promise<readonly ModelVersionMarker[]> {
  return (await publishedVersions(topics, topic)).ready
}

/**
 * The versions of a topic that are not whole, or that no process registers any more; `registered`: the records of the
 * model.
 */
export function unfinishedVersions(
  { all }: PublishedVersions,
  registered: ReadonlyMap<number, RegisteredVersion> | undefined,
  nowMs: number,
): readonly UnfinishedVersion[] {
  const known = { nowMs, here: machineProcesses }
  return all
    .map((version) => unfinishedVersion(version, registered?.get(version.marker.version), known))
    .filter((version) => version !== undefined)
}

type LastMarker = Pick<TopicVersion, 'marker' | 'atMs'>

/**
 * The marker that says what a version is. A process that was killed may have left different ones in the partitions: then the
 * version is what it is where the least is done.
 */
function deciding(last: readonly LastMarker[]): LastMarker | undefined {
  const rank = ({ marker: { event, rowsLeft } }: LastMarker): number =>
    event === 'announce' ? 0 : event !== 'retire' ? 3 : rowsLeft === true ? 1 : 2
  return [...last].sort((a, b) => rank(a) - rank(b) || b.atMs - a.atMs)[0]
}

/** Folds the records of a model topic. */
class VersionScan {
  private readonly complete = new Set<number>()
  private readonly ready = new Map<number, ModelVersionMarker>()
  /** By version, the last marker of each partition. */
  private readonly last = new Map<number, Map<number, LastMarker>>()
  private readonly sizes = new Map<number, { rows: number; bytes: number }>()
  private highest = 0
  private forgotten: VersionRanges = []

  marker(version: number | undefined, record: RecordView, partition: number): void {
    if (version === undefined) return
    const value = record.value()
    const marker = value === null ? undefined : readableMarker(value)
    if (value === null) {
      this.ready.delete(version)
      this.last.get(version)?.delete(partition)
    }
    if (marker === undefined) return
    const { event, incomplete, forgotten = [] } = marker
    if (event === 'ready') this.ready.set(version, marker)
    if (event === 'retire') this.ready.delete(version)
    if (event !== 'announce' && incomplete !== true) this.complete.add(version)
    const ofVersion = this.last.get(version) ?? new Map<number, LastMarker>()
    this.last.set(version, ofVersion.set(partition, { marker, atMs: record.timestamp }))
    this.highest = Math.max(this.highest, version)
    this.forgotten = joinedRanges([this.forgotten, forgotten])
  }

  row(key: Uint8Array, value: Uint8Array | null): void {
    const version = versionOfKeyBytes(key, keyLengthWithoutVersion(key))
    let size = this.sizes.get(version)
    if (size === undefined) {
      size = { rows: 0, bytes: 0 }
      this.sizes.set(version, size)
    }
    size.rows += value === null ? -1 : 1
    size.bytes += value === null ? 0 : key.length + value.length
  }

  found(): PublishedVersions {
    const { complete, forgotten, ready } = this
    const all = [...this.last].flatMap(([version, ofVersion]): TopicVersion[] => {
      const last = deciding([...ofVersion.values()])
      const { rows, bytes } = this.sizes.get(version) ?? { rows: 0, bytes: 0 }
      return last === undefined ? [] : [{ ...last, rows: Math.max(0, rows), bytes }]
    })
    return {
      highest: Math.max(this.highest, forgotten.at(-1)?.[1] ?? 0),
      isComplete: (version) => complete.has(version) || hasVersion(forgotten, version),
      ready: [...ready.values()].sort((a, b) => a.version - b.version),
      all: all.sort((a, b) => a.marker.version - b.marker.version),
    }
  }
}
