import type { TopicsPlace } from '../../connectors/topics/open.ts'
import { dataDirectory } from './data-directory.ts'

/**
 * Place of the registry: the same Kafka as the topics, or a separate folder beside the embedded log,
 * so that a job that holds the lock of the log does not block commands.
 */
export function registryPlace(topics: TopicsPlace, root: string): TopicsPlace {
  return topics.kafka === undefined ? { logDirectory: dataDirectory(root).registry } : topics
}
