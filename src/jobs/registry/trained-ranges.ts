import type { TopicStore } from '../../connectors/topics/store.ts'
import { isWeirError } from '../../core/errors.ts'
import { areOfOneTopic, placeOfRange, type RangePlace } from '../../models/registry/range-place.ts'
import type { DataRange, RegisteredVersion } from '../../models/registry/version.ts'

/** Reads the observations of ranges of one topic. */
export type RangeReader<O> = (ranges: readonly DataRange[]) => AsyncIterable<readonly O[]>

/** An observation's position in its topic. */
export interface ObservationPosition {
  readonly partition: number
  readonly offset: number
}

/**
 * The ranges that a version was trained on, and those that were replayed later, of the first topic among them: one range a
 * partition. Empty for a version that was not trained on a topic.
 */
export function trainedRanges({ lineage }: RegisteredVersion): readonly DataRange[] {
  const [first] = lineage.ranges
  const joined = new Map<number, DataRange>()
  for (const range of [...lineage.ranges, ...(lineage.replayed ?? [])]) {
    if (first === undefined || !areOfOneTopic(range, first)) continue
    const { from = range.from, to = range.to } = joined.get(range.partition) ?? {}
    const widened = { from: Math.min(from, range.from), to: Math.max(to, range.to) }
    joined.set(range.partition, { ...range, ...widened })
  }
  return [...joined.values()]
}

/** Positions that a version was trained on, in the topic of other ranges. */
export class TrainedPositions {
  private readonly ranges: ReadonlyMap<number, DataRange>

  /** `of`: ranges of the topic whose positions are looked up; those of other topics are none of the version. */
  constructor(version: RegisteredVersion | undefined, [first]: readonly DataRange[]) {
    const ranges = version === undefined ? [] : trainedRanges(version)
    const same = ranges.filter((range) => first !== undefined && areOfOneTopic(range, first))
    this.ranges = new Map(same.map((range) => [range.partition, range]))
  }

  has({ partition, offset }: ObservationPosition): boolean {
    const range = this.ranges.get(partition)
    return range !== undefined && offset >= range.from && offset < range.to
  }
}

/** A version whose lineage has only the ranges that can be read here. */
export interface PresentVersion {
  readonly version: RegisteredVersion
  /** What a person should know: that ranges were left out, or taken for ranges of a topic. */
  readonly note: string | undefined
}

/**
 * The version without ranges of topics that are not here: those of a version that was imported mean other records in a
 * topic of the same name.
 */
export async function presentVersion(
  topics: TopicStore,
  version: RegisteredVersion,
): Promise<PresentVersion> {
  const { lineage, number } = version
  const { ranges, replayed = [] } = lineage
  const all = [...ranges, ...replayed]
  const ids = new Map<string, string | undefined>()
  for (const topic of new Set(all.map((range) => range.topic))) {
    ids.set(topic, await idOf(topics, topic))
  }
  const placeOf = (range: DataRange): RangePlace => {
    const id = ids.get(range.topic)
    return id === undefined ? 'elsewhere' : placeOfRange(range, { topic: range.topic, id })
  }
  const isHere = (range: DataRange): boolean => placeOf(range) !== 'elsewhere'
  const present = { ranges: ranges.filter(isHere), replayed: replayed.filter(isHere) }
  const name = `topic ${ranges[0]?.topic ?? ''} of ${topics.place}`
  const places = all.map(placeOf)
  const note = places.includes('elsewhere')
    ? `version ${number} was not trained on ${name}, so its training data is not looked at`
    : places.includes('taken-for-here')
      ? `version ${number} does not say the id of the topic that it was trained on: ${name} is taken for it`
      : undefined
  return { version: { ...version, lineage: { ...lineage, ...present } }, note }
}

/** Id of a topic; undefined if it does not exist. */
async function idOf(topics: TopicStore, topic: string): Promise<string | undefined> {
  try {
    return (await topics.identity(topic)).id
  } catch (error) {
    if (isWeirError(error, 'UNKNOWN_TOPIC')) return undefined
    throw error
  }
}
