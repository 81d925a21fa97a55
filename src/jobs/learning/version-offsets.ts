import { openTopics } from '../../connectors/topics/open.ts'
import { TOPICS_PLACE, type TopicsPlace } from '../../connectors/topics/place.ts'
import { name, objectWith, required } from '../../core/options/kinds.ts'
import { checkOptions, nested, type OptionShape } from '../../core/options/shape.ts'
import type { LearnedPart } from '../../models/registry/learned-part.ts'
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
 * replayed onto it and what was written back. Empty where the version comes from elsewhere, or where the topic was created again
 * since.
 */
export async function resumeOffsetsOf(
  number: number,
  options: VersionOffsetsOptions,
): Promise<readonly ResumeOffset[]> {
  checkOptions('resumeOffsetsOf', VERSION_OFFSETS, options)
  const { registry, place, model, observations, learned } = options
  const version = (await registry.read()).versions.get(model)?.get(number)
  const { ranges = [], replayed = [] } = version?.lineage ?? {}
  const covered = [...ranges, ...replayed, ...rangesOf(learned)].filter(
    ({ topic }) => topic === observations,
  )
  if (covered.length === 0) return []
  await using topics = await openTopics(place)
  const bounds = await topics.bounds(observations)
  const nextOf = (partition: number): number =>
    Math.max(0, ...covered.filter((range) => range.partition === partition).map(({ to }) => to))
  const isSameTopic =
    covered.every(({ partition }) => partition < bounds.length) &&
    bounds.every(({ partition, end }) => nextOf(partition) <= end)
  if (!isSameTopic) return []
  return bounds.map(({ partition, start }) => ({ partition, start, next: nextOf(partition) }))
}

function rangesOf(
  learned: LearnedPart | undefined,
): { topic: string; partition: number; to: number }[] {
  if (learned === undefined) return []
  const { observations: topic, next } = learned
  return next.map((to, partition) => ({ topic, partition, to: Math.max(0, to) }))
}
