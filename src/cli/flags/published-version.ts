import { checkTopicName } from '../../connectors/log/storage/topic-config.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import { isWeirError, WeirError } from '../../core/errors.ts'
import { HIGHEST_VERSION } from '../../core/model-version.ts'
import { type VersionChoice, versionToPublish } from '../../models/publish/version-to-publish.ts'
import type { RegistryState } from '../../models/registry/version.ts'
import { checkModelTopics } from '../../models/topic/check-topics.ts'
import type { ModelRegistry } from '../../models/versions/model-registry.ts'
import type { Flags, OptionSpec } from '../command/command.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'
import { checkDataDirectory } from './data-directory.ts'
import { registryOf } from './model-registry.ts'

/** Flags of every command that publishes a version. */
export const PUBLISHED_VERSION_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  version: {
    type: 'string',
    value: wholeNumber({ min: 1, max: HIGHEST_VERSION }),
    help: 'Version number (default: one above the highest of the topic)',
  },
  overwrite: {
    type: 'boolean',
    help: 'Replace the rows of a version that exists; never of the live version in the registry',
  },
}

/**
 * The version choice of the flags, checked before any work. Throws UsageError for a wrong number,
 * PERMISSION_DENIED if the data folder cannot be written, VERSION_EXISTS if the topic has the version
 * and `--overwrite` is not set, TOPIC_EXISTS if the topic of the deltas is compacted, and ILLEGAL_STATE
 * if the version to overwrite is live in the registry: only a promotion changes what is live.
 */
export async function publishedVersionOf(
  flags: Flags,
  topics: TopicStore,
  topic: string,
): Promise<VersionChoice & { readonly registry: ModelRegistry }> {
  checkTopicName(topic)
  if (flags.optional('brokers') === undefined) checkDataDirectory(flags.string('data-dir'))
  const version = flags.optionalNumber('version')
  const overwrite = flags.boolean('overwrite')
  const state = overwrite ? await registryOf(flags).read() : await visibleRegistry(flags)
  if (overwrite) refuseLive(state, topic, version)
  const after = Math.max(0, ...(state.versions.get(topic)?.keys() ?? []))
  const choice = { version, after, overwrite, registry: registryOf(flags) }
  await versionToPublish(topics, topic, choice)
  await checkModelTopics(topics, topic)
  return choice
}

/** The registry; empty for a Kafka user who may publish a model but not read the registry. */
async function visibleRegistry(flags: Flags): Promise<RegistryState> {
  try {
    return await registryOf(flags).read()
  } catch (error) {
    if (!isWeirError(error, 'ACCESS_DENIED')) throw error
    return { models: new Map(), versions: new Map() }
  }
}

function refuseLive(state: RegistryState, topic: string, version: number | undefined): void {
  const live = state.models.get(topic)?.live ?? 0
  if (live === 0 || version !== live) return
  throw new WeirError(
    'ILLEGAL_STATE',
    `version ${live} of ${topic} is live, and only a promotion changes what is live; publish another version and promote it`,
  )
}

/**
 * Text to append to the report of a published version: whether it is live, as the first version of a model is, or which
 * command makes it so.
 */
export async function promotionHint(flags: Flags, topic: string, version: number): Promise<string> {
  const state = await visibleRegistry(flags)
  const live = state.models.get(topic)?.live ?? 0
  if (!state.models.has(topic)) return ''
  if (live === version) return '; it is live, as the first version of the model'
  const now =
    live === 0 ? 'a candidate: no version is live' : `a candidate: version ${live} stays live`
  return `; ${now} until "weir model promote ${version} --model ${topic} --golden FILE" checks it with ratings or examples of FILE`
}
