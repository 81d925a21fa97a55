import type { TopicsPlace } from '../../connectors/topics/place.ts'
import { systemClock } from '../../core/clock.ts'
import { ModelRegistry } from '../../models/versions/model-registry.ts'
import { type DataDirectory, dataDirectory } from './data-directory.ts'

/**
 * Place of the registry: the same Kafka as the topics, or a separate folder beside the embedded log,
 * so that a job that holds the lock of the log does not block commands.
 */
export function registryPlace(topics: TopicsPlace, root: string): TopicsPlace {
  return topics.kafka === undefined ? { logDirectory: dataDirectory(root).registry } : topics
}

/** The registry of a job's model; `place`: of the model topic. */
export function registryOfJob({
  data,
  place = { logDirectory: data.log },
}: {
  readonly data: DataDirectory
  readonly place?: TopicsPlace
}): ModelRegistry {
  return new ModelRegistry({ place: registryPlace(place, data.root), clock: systemClock })
}
