import { openTopics, type TopicsPlace } from '../connectors/topics/open-topics.ts'
import type { ModelRegistry } from './model-registry.ts'
import type { LearningPlace } from './online-places.ts'

/** Where a version and what it learned from are looked up. */
export interface VersionPlacesOptions {
  readonly registry: ModelRegistry
  /** Where the observations are. */
  readonly place: TopicsPlace
  readonly model: string
  /** Topic of observations. */
  readonly observations: string
}

/**
 * How far a version has learned each partition of the observations, by what it was trained on and what
 * was replayed: none when it came from elsewhere, or when the topic is another one by now.
 */
export async function placesOfVersion(
  { registry, place, model, observations }: VersionPlacesOptions,
  number: number,
): Promise<readonly LearningPlace[]> {
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
