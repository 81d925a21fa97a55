import type { TopicStore } from '../../connectors/topics/store.ts'
import { type FeatureHashing, hashingOf } from '../../core/features/hashing.ts'
import type { DataRange } from '../registry/ranges/data-range.ts'
import { areSameObservations } from '../registry/ranges/observations-digest.ts'
import { isLinear, type RegisteredVersion } from '../registry/version.ts'
import { readExamples } from './examples.ts'
import { RangesReading } from './ranges-reading.ts'
import { type BadObservation, readObservations } from './topic-ranges.ts'

/** What the records of a topic are. */
export type ObservationKind = 'ratings' | 'examples'

/** Whether a topic has the records that a training read there. */
export type RecordsComparison =
  | { readonly kind: 'same' }
  /** The version does not say what it read, as those of earlier builds. */
  | { readonly kind: 'not-noted' }
  /** The topic has removed them. */
  | { readonly kind: 'gone' }
  /** Records of the range were erased, and nothing else differs as far as that can be known. `what`: in words. */
  | { readonly kind: 'erased'; readonly what: string }
  /** It has other ones: it was rewritten, or is a copy that went its own way. `what`: what differs, in words. */
  | { readonly kind: 'other'; readonly what: string }

/** How the records of a topic are read. */
export interface ObservationForm {
  readonly kind: ObservationKind
  /** How the names of the features of examples are hashed; undefined where features have ids. */
  readonly hashing?: FeatureHashing | undefined
}

/** How the observations of a version are read. */
export function formOf({
  users,
  lineage,
}: Pick<RegisteredVersion, 'users' | 'lineage'>): ObservationForm {
  const kind = isLinear({ users }) ? 'examples' : 'ratings'
  return { kind, hashing: hashingOf(lineage.hyperparameters) }
}

/** How a range is compared. */
export interface ComparedRange extends ObservationForm {
  /** The whole range, or its end only, which takes the same time at any size. */
  readonly part: 'all' | 'last'
}

/** Compares what a training read of ranges with what the topic has there now; the ranges are of the topic that is here. */
export async function comparedRecords(
  topics: TopicStore,
  ranges: readonly DataRange[],
  compared: ComparedRange,
): Promise<RecordsComparison> {
  let found: RecordsComparison = { kind: 'same' }
  for (const range of ranges) {
    const one = await comparedRange(topics, range, compared)
    if (one.kind === 'other') return one
    if (one.kind !== 'same') found = one
  }
  return found
}

/** Whether a topic has removed records of these ranges, so that the whole of them can no longer be read. */
export async function areTrimmed(
  topics: TopicStore,
  ranges: readonly DataRange[],
): Promise<boolean> {
  for (const { topic, partition, from, to } of ranges) {
    const bounds = await topics.bounds(topic)
    if (to > from && bounds.some((each) => each.partition === partition && each.start > from)) {
      return true
    }
  }
  return false
}

async function comparedRange(
  topics: TopicStore,
  range: DataRange,
  { kind, part, hashing }: ComparedRange,
): Promise<RecordsComparison> {
  const { topic, partition, from, to, read } = range
  if (to <= from) return { kind: 'same' }
  const bounds = (await topics.bounds(topic)).find((each) => each.partition === partition)
  const place = `${topic}/${partition}`
  if (bounds === undefined || bounds.end < to) {
    const end = bounds === undefined ? 'does not exist' : `ends at ${bounds.end}`
    return { kind: 'other', what: `${place} ${end}, and the training read up to ${to}` }
  }
  if (read === undefined) return { kind: 'not-noted' }
  const isWhole = part === 'all' && bounds.start <= from
  const wanted = isWhole ? { from, digest: read.all } : read.last
  if (bounds.start > wanted.from) return { kind: 'gone' }
  const { now, withoutRecord } = await readingOf(
    topics,
    { ...range, from: wanted.from },
    { kind, hashing },
  )
  const isSame = areSameObservations(wanted.digest, now)
  if (isSame === undefined) return { kind: 'not-noted' }
  if (isSame) return { kind: 'same' }
  const missing = wanted.digest.count - now.count
  const had = `${wanted.digest.count} ${kind} with digest ${wanted.digest.sum}`
  const has = `${now.count} with ${now.sum}`
  return {
    // A digest of what was erased is kept nowhere: it would say of a person what it was made of.
    kind: missing > 0 && missing <= withoutRecord ? 'erased' : 'other',
    what: `the training read ${had} at offsets ${wanted.from} to ${to} of ${place}, which has ${has} there now`,
  }
}

/** What a range has now, and how many of its offsets have no record. */
async function readingOf(topics: TopicStore, range: DataRange, form: ObservationForm) {
  let bad = 0
  const [found] = await readRanges(topics, [range], form, () => {
    bad++
  })
  const now = found!.read!.all
  return { now, withoutRecord: range.to - range.from - now.count - bad }
}

/** Reads ranges of a topic; returns them with what was read. */
export async function readRanges(
  topics: TopicStore,
  ranges: readonly DataRange[],
  { kind, hashing }: ObservationForm,
  onBad?: BadObservation,
): Promise<readonly DataRange[]> {
  const reading = new RangesReading(ranges)
  if (kind === 'ratings') {
    for await (const piece of readObservations(topics, ranges, onBad)) {
      for (const rating of piece) reading.addRating(rating)
    }
  } else {
    for await (const piece of readExamples(topics, ranges, onBad, hashing)) {
      for (const example of piece) reading.addExample(example)
    }
  }
  return reading.ranges
}
