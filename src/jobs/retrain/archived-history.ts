import { filesAt } from '../../connectors/file/list.ts'
import type { PartitionBounds, TopicStore } from '../../connectors/topics/store.ts'
import { type ArchivePart, archiveDigest, partOf } from '../../models/observations/archive-parts.ts'
import type { HistoryFiles } from '../../models/observations/history.ts'
import type { DataRange } from '../../models/registry/ranges/data-range.ts'

/** What a history has of the topic of observations itself. */
export interface ArchivedHistory {
  /** The history without the part files of what the topic still has. */
  readonly history: HistoryFiles | undefined
  /** What the topic has together with the archive, where that ends at the start of the topic or later. */
  readonly bounds: readonly PartitionBounds[]
  /** Ranges of the topic without what a part file has that begins before the topic does. */
  after(ranges: readonly DataRange[]): readonly DataRange[]
}

/**
 * Tells an archive of the observations (`TopicArchive`) in a history from other files: an observation that is in both is then
 * trained on once. Files of the archive that begin where the topic has records are left out; of one that begins before and ends
 * after the start of the topic, the topic is read from its end on.
 */
export async function archivedHistory(
  topics: TopicStore,
  observations: string,
  history: HistoryFiles | undefined,
): Promise<ArchivedHistory> {
  const bounds = await topics.bounds(observations)
  const nothing = { history, bounds, after: (ranges: readonly DataRange[]) => ranges }
  if (history === undefined) return nothing
  const topic = archiveDigest((await topics.identity(observations)).id)
  const files = (await Promise.all(history.places.map(filesAt))).flat()
  const parts = files.map(({ place }) => partOf(place)).filter((part) => part?.topic === topic)
  if (parts.length === 0) return nothing
  const found = parts as readonly ArchivePart[]
  const starts = bounds.map(({ partition, start }) => ({ partition, start }))
  return {
    history: { ...history, present: { topic, starts } },
    bounds: bounds.map((each) => ({ ...each, start: archivedFrom(found, each) })),
    after: (ranges) => ranges.map((range) => ({ ...range, from: firstUnread(found, range) })),
  }
}

/** The first offset from which on archive and topic together have all. */
function archivedFrom(
  parts: readonly ArchivePart[],
  { partition, start }: PartitionBounds,
): number {
  const own = parts.filter((part) => part.partition === partition)
  return own
    .toSorted((a, b) => b.from - a.from)
    .reduce((first, { from, to }) => (to >= first ? Math.min(first, from) : first), start)
}

/** Where a range goes on after a part that begins before it; never its end, which says that it was read. */
function firstUnread(parts: readonly ArchivePart[], { partition, from, to }: DataRange): number {
  const across = parts.find(
    (part) => part.partition === partition && part.from < from && part.to > from,
  )
  return across === undefined || across.to >= to ? from : across.to
}
