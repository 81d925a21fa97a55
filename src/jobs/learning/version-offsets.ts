import { openTopics, type TopicsPlace } from '../../connectors/topics/open.ts'
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
}

/**
 * Where a version resumes in each partition of the observations, by what it was trained on and what was
 * replayed onto it. Empty where the version comes from elsewhere, or where the topic was created again
 * since.
 */
export async function resumeOffsetsOf(
  number: number,
  { registry, place, model, observations }: VersionOffsetsOptions,
): Promise<readonly ResumeOffset[]> {
  const version = (await registry.read()).versions.get(model)?.get(number)
  const { ranges = [], replayed = [] } = version?.lineage ?? {}
  const learned = [...ranges, ...replayed].filter(({ topic }) => topic === observations)
  if (learned.length === 0) return []
  await using topics = await openTopics(place)
  const bounds = await topics.bounds(observations)
  const nextOf = (partition: number): number =>
    Math.max(0, ...learned.filter((range) => range.partition === partition).map(({ to }) => to))
  const isSameTopic =
    learned.every(({ partition }) => partition < bounds.length) &&
    bounds.every(({ partition, end }) => nextOf(partition) <= end)
  if (!isSameTopic) return []
  return bounds.map(({ partition, start }) => ({ partition, start, next: nextOf(partition) }))
}
