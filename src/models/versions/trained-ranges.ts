import type { TopicStore } from '../../connectors/topics/store.ts'
import { isWeirError } from '../../core/errors.ts'
import { areTrimmed, comparedRecords, formOf } from '../observations/compared-records.ts'
import { joinedRead } from '../observations/ranges-reading.ts'
import type { DataRange } from '../registry/ranges/data-range.ts'
import { areOfOneTopic, placeOfRange, type RangePlace } from '../registry/ranges/range-place.ts'
import type { RegisteredVersion } from '../registry/version.ts'

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
    const known = joined.get(range.partition)
    joined.set(range.partition, known === undefined ? range : joinedRange(known, range))
  }
  return [...joined.values()]
}

/** The range from the first to the last offset of two; what was read is known where one follows the other. */
function joinedRange(left: DataRange, right: DataRange): DataRange {
  const { read: _, ...range } = right
  const read = right.from === left.to ? joinedRead(left.read, right.read) : undefined
  const widened = { from: Math.min(left.from, right.from), to: Math.max(left.to, right.to) }
  return { ...range, ...widened, ...(read === undefined ? {} : { read }) }
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

/** How the observations of a training are read again. */
export interface TrainingReader<O> {
  readonly read: RangeReader<O>
  /** Reads the files that the version was trained on before its ranges. @default none */
  readonly history?: (() => AsyncIterable<readonly O[]>) | undefined
}

/** Whether the observations of a training can be read again. */
export function hasReadable(
  version: RegisteredVersion,
  { history }: Pick<TrainingReader<unknown>, 'history'>,
): boolean {
  return history !== undefined || trainedRanges(version).length > 0
}

/** The observations of a training, each with whether the version before was trained on it, too. */
export async function* trainedObservations<O extends ObservationPosition>(
  { read, history }: TrainingReader<O>,
  { version, before }: TrainedVersions,
): AsyncGenerator<readonly [O, boolean]> {
  if (history !== undefined) {
    const had = new Set(before?.lineage.files.map(({ sha256 }) => sha256))
    const isOld = version.lineage.files.every(({ sha256 }) => had.has(sha256))
    for await (const piece of history()) for (const each of piece) yield [each, isOld]
  }
  const ranges = trainedRanges(version)
  const positions = new TrainedPositions(before, ranges)
  for await (const piece of read(ranges))
    for (const each of piece) yield [each, positions.has(each)]
}

/** A version, and the one that its training data is compared with. */
export interface TrainedVersions {
  readonly version: RegisteredVersion
  readonly before: RegisteredVersion | undefined
}

/** A version whose lineage has only the ranges that can be read here. */
export interface PresentVersion {
  readonly version: RegisteredVersion
  /** What a person should know: that ranges were left out, or taken for ranges of a topic. */
  readonly note: string | undefined
}

/**
 * The version without ranges of topics that are not here: those of a version that was imported mean other records in a
 * topic of the same name, and so do those of a topic that was rewritten. `isRead`: whether its records are going to be read,
 * so that they must be those of the training.
 */
export async function presentVersion(
  topics: TopicStore,
  version: RegisteredVersion,
  isRead = true,
): Promise<PresentVersion> {
  const { lineage, number } = version
  const { ranges, replayed = [] } = lineage
  const all = [...ranges, ...replayed]
  if (all.length === 0) return { version, note: undefined }
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
  const here = all.filter(isHere)
  const problem = isRead ? await problemOf(topics, { version, here, name }) : undefined
  if (problem !== undefined) {
    const none = { ...lineage, ranges: [], replayed: [] }
    return { version: { ...version, lineage: none }, note: problem }
  }
  const note = places.includes('elsewhere')
    ? `version ${number} was not trained on ${name}, so its training data is not looked at`
    : places.includes('taken-for-here')
      ? `version ${number} does not say the id of the topic that it was trained on: ${name} is taken for it`
      : undefined
  return { version: { ...version, lineage: { ...lineage, ...present } }, note }
}

/** Why the records of ranges that are here are not those of the training, or not all of them; undefined if they are. */
async function problemOf(
  topics: TopicStore,
  {
    version,
    here,
    name,
  }: {
    readonly version: RegisteredVersion
    readonly here: readonly DataRange[]
    readonly name: string
  },
): Promise<string | undefined> {
  if (await areTrimmed(topics, here)) {
    return `${name} has removed records that version ${version.number} was trained on, so they cannot be compared, and its training data is not looked at`
  }
  const compared = await comparedRecords(topics, here, { ...formOf(version), part: 'all' })
  return compared.kind === 'other'
    ? `version ${version.number} was trained on other records than ${name} has now (${compared.what}), so its training data is not looked at`
    : undefined
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
