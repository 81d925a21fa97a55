import { openTopics } from '../../connectors/topics/open.ts'
import { TOPICS_PLACE, type TopicsPlace } from '../../connectors/topics/place.ts'
import { name, objectWith, required } from '../../core/options/kinds.ts'
import { checkOptions, nested, type OptionShape } from '../../core/options/shape.ts'
import type { LearnedPart } from '../../models/registry/learned-part.ts'
import { placeOfRange, type RangePlace, rangesHere } from '../../models/registry/range-place.ts'
import type { DataRange } from '../../models/registry/version.ts'
import type { ModelRegistry } from '../registry/model-registry.ts'
import type { ResumeOffset } from './resume-offsets.ts'

/** Where a version and the observations that it has learned are looked up. */
export interface VersionOffsetsOptions {
  readonly registry: ModelRegistry
  /** Where the observations are. */
  readonly place: TopicsPlace
  readonly model: string
  /** Topic of observations. */
  readonly observations: string
  /** What the version's rows in the model topic include. */
  readonly learned?: LearnedPart | undefined
}

const VERSION_OFFSETS: OptionShape<VersionOffsetsOptions> = {
  registry: required(objectWith('a ModelRegistry', 'read', 'execute')),
  place: required(nested(TOPICS_PLACE)),
  model: required(name),
  observations: required(name),
  learned: objectWith('what a version has learned'),
}

/**
 * Where a version resumes in each partition of the observations, by what it was trained on, what was
 * replayed onto it and what was written back. Empty where that was another topic, also one of the same name, as it is
 * for a version from elsewhere and where the topic was created again since.
 */
export async function resumeOffsetsOf(
  number: number,
  options: VersionOffsetsOptions,
): Promise<readonly ResumeOffset[]> {
  checkOptions('resumeOffsetsOf', VERSION_OFFSETS, options)
  const { place, observations } = options
  const ranges = await coveredRanges(number, options)
  if (ranges.length === 0) return []
  await using topics = await openTopics(place)
  const { id } = await topics.identity(observations)
  const covered = rangesHere(ranges, { topic: observations, id })
  if (covered.length === 0) return []
  const bounds = await topics.bounds(observations)
  const nextOf = (partition: number): number =>
    Math.max(0, ...covered.filter((range) => range.partition === partition).map(({ to }) => to))
  const isSameTopic =
    covered.every(({ partition }) => partition < bounds.length) &&
    bounds.every(({ partition, end }) => nextOf(partition) <= end)
  if (!isSameTopic) return []
  return bounds.map(({ partition, start }) => ({ partition, start, next: nextOf(partition) }))
}

/**
 * Where the observations are that a version was trained on or has learned: `elsewhere` only if none of them is in the
 * topic that is here. Undefined for a version that does not say what it was trained on.
 */
export async function placeOfObservations(
  number: number,
  options: VersionOffsetsOptions,
): Promise<RangePlace | undefined> {
  const ranges = await coveredRanges(number, options)
  if (ranges.length === 0) return undefined
  await using topics = await openTopics(options.place)
  const { observations: topic } = options
  const present = { topic, id: (await topics.identity(topic)).id }
  const places = new Set(ranges.map((range) => placeOfRange(range, present)))
  if (places.has('taken-for-here')) return 'taken-for-here'
  return places.has('here') ? 'here' : 'elsewhere'
}

type CoveredRange = Pick<DataRange, 'topic' | 'topicId' | 'partition' | 'to'>

async function coveredRanges(
  number: number,
  { registry, model, learned }: VersionOffsetsOptions,
): Promise<readonly CoveredRange[]> {
  const version = (await registry.read()).versions.get(model)?.get(number)
  const { ranges = [], replayed = [] } = version?.lineage ?? {}
  return [...ranges, ...replayed, ...rangesOf(learned)]
}

function rangesOf(learned: LearnedPart | undefined): CoveredRange[] {
  if (learned === undefined) return []
  const { observations: topic, observationsId, next } = learned
  const id = observationsId === undefined ? {} : { topicId: observationsId }
  return next.map((to, partition) => ({ topic, ...id, partition, to: Math.max(0, to) }))
}
