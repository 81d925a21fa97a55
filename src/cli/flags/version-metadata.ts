import type { ModelVersionMarker } from '../../models/registry/version-marker.ts'
import { readyVersions } from '../../models/versions/model-versions.ts'
import type { Flags, OptionSpec } from '../command/command.ts'
import { topicName } from '../flag-kinds/words.ts'
import { DATA_DIR_OPTION } from './data-directory.ts'
import { KAFKA_OPTIONS, topicsOf } from './kafka.ts'

/** Flags of queries that read what the topic of a model says about its versions. */
export function versionMetadataOptions(topic: string): Readonly<Record<string, OptionSpec>> {
  return {
    topic: {
      type: 'string',
      value: topicName,
      default: topic,
      help: 'Model topic; what it says of the version is the default of other flags',
    },
    ...KAFKA_OPTIONS,
    ...DATA_DIR_OPTION,
  }
}

/** Metadata of the complete versions of `--topic`, by number; empty where this machine does not have it. */
export async function versionMetadata(
  flags: Flags,
): Promise<ReadonlyMap<number, ModelVersionMarker>> {
  const topic = flags.string('topic')
  await using topics = await topicsOf(flags)
  const versions = (await topics.has(topic)) ? await readyVersions(topics, topic) : []
  return new Map(versions.map((marker) => [marker.version, marker]))
}
