/** How a place is searched: over topics, checkpoint storage, a running job or files; `none` where it has nothing to find. */
export type PlaceSearch = 'topics' | 'storage' | 'job' | 'files' | 'none'

/** A place where Weir stores or keeps something of a user. */
export interface Place {
  /** What it is, in words. */
  readonly what: string
  readonly search: PlaceSearch
  /** What `weir forget` does there. */
  readonly erasure: string
  /** What stays after it, and how long; undefined if nothing does. */
  readonly left?: string
}

const UNTIL_COMPACTION =
  'on Kafka the old records, until the topic is compacted; the tombstone with the id alone, for delete.retention.ms (a day) after that'
const UNTIL_RETENTION = 'on Kafka all of it, until the retention of the topic'

/**
 * Every place where Weir stores or keeps something of a user of a factor model. `forget` goes through it in this
 * order, and `prove` searches each row: what is not in this table is not searched, so a new place is a new row.
 */
export const PLACES = {
  observations: {
    what: 'ratings in the topic that the job learns',
    search: 'topics',
    erasure: 'an embedded log is written again without them; see --on-kafka for Kafka',
    left: UNTIL_RETENTION,
  },
  'other-ratings': {
    what: 'ratings in other topics: golden sets, histories',
    search: 'topics',
    erasure: 'as the observations, for the topics of --also',
    left: UNTIL_RETENTION,
  },
  quarantine: {
    what: 'refused ratings',
    search: 'topics',
    erasure: 'as the observations, for the topics of --quarantine',
    left: UNTIL_RETENTION,
  },
  deltas: {
    what: 'what the ratings have changed of items: rows and ratings, without an id',
    search: 'topics',
    erasure: 'those of ratings that were erased are erased from an embedded log',
    left: `${UNTIL_RETENTION} or --on-kafka delete-before; sums of --window-count, of which one person is a part`,
  },
  rows: {
    what: 'rows of the user in the model topic, of all versions',
    search: 'topics',
    erasure: 'a tombstone for each version; an embedded log is written again without the rows',
    left: UNTIL_COMPACTION,
  },
  'unnamed-topics': {
    what: 'topics of the embedded log that the command does not name',
    search: 'topics',
    erasure: 'none: name them with --also or --quarantine',
  },
  served: {
    what: 'rows and counts in the memory of a job, of all versions that it serves',
    search: 'job',
    erasure: 'a running job removes the rows when it reads the tombstones',
    left: 'rows spilled to the disk, until the store is compacted or the job starts again',
  },
  histories: {
    what: 'the items that a user rated (KNOWN_ITEMS, USER_COUNTS)',
    search: 'job',
    erasure:
      'a record with the id and no value in each partition of the ratings, by which a job of histories drops the user',
    left: 'these records, with the id alone, until the retention of the topic',
  },
  checkpoints: {
    what: 'rows, histories, lines of ratings that --event-id compares, and records under way, in checkpoints and savepoints',
    search: 'storage',
    erasure: 'none: a checkpoint that begins after the tombstones were read no longer has them',
    left: 'older checkpoints, until the job deletes them; old bytes in their files, until a chain is compacted; savepoints, until you delete them',
  },
  files: {
    what: 'files of yours: ratings, golden sets, archives, --bad-lines, the audit, logs, exports, backups, spilled state, cut ends of a log; a chain of train bmf, which has rows without ids',
    search: 'files',
    erasure: 'none: they are yours; name them with --file',
    left: 'all of them',
  },
  'item-rows': {
    what: 'the part that the ratings have in the rows of items and in the mean rows',
    search: 'none',
    erasure: 'none: a number of many people; it leaves with the next training',
    left: 'until the next training, which trains again although the offsets are the same',
  },
  registry: {
    what: 'versions and their checks',
    search: 'none',
    erasure: 'none: it holds numbers, digests and offsets of whole ranges, and no id of a user',
  },
  'gateway-and-dashboard': {
    what: 'memory of the gateway and the dashboard, caches, labels of metrics, spans',
    search: 'none',
    erasure:
      'none: they hold no row and no id beyond the answer to a request; no metric has an id as label',
  },
  'rate-limits': {
    what: 'how many ratings a user had in the last second of event time',
    search: 'none',
    erasure: 'none: it is over after a second, and no checkpoint has it',
  },
} as const satisfies Readonly<Record<string, Place>>

/** Name of a place. */
export type PlaceName = keyof typeof PLACES

/** Names of all places, in the order of the table. */
export const PLACE_NAMES = Object.keys(PLACES) as readonly PlaceName[]

/** A topic of ratings, and the row of the table that it is. */
export interface RatingsPlace {
  readonly place: PlaceName
  readonly topic: string
}

/** What was done in one topic. */
export interface ForgottenPart {
  readonly place: PlaceName
  readonly topic: string
  /** Records that were erased or kept, or tombstones that were written. */
  readonly count: number
  readonly did: 'erased' | 'tombstones' | 'announced' | 'deleted-before' | 'kept'
  /** Where records stay that the store cannot take out; undefined or empty: nowhere. */
  readonly left?: readonly LeftRange[]
}

/** Records of a person that stay in a partition. */
export interface LeftRange {
  readonly partition: number
  /** Offset of the first one, and of the last one. */
  readonly first: number
  readonly last: number
  readonly count: number
  /** The retention keeps the last one at least until then, ms since 1970; null: without an end, or it is not known. */
  readonly notBeforeMs: number | null
}
