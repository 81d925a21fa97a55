import { join } from 'node:path'
import type { TopicsPlace } from '../connectors/topics/open-topics.ts'
import type { TopicStore } from '../connectors/topics/topic-store.ts'
import { systemClock } from '../core/clock.ts'
import { WeirError } from '../core/errors.ts'
import { ModelRegistry } from '../jobs/model-registry.ts'
import {
  findVersion,
  type RegisteredVersion,
  type RegistryState,
} from '../models/registry-version.ts'
import type { Flags, OptionSpec } from './command.ts'
import { DATA_DIR_OPTION, dataDirectory } from './data-directory.ts'
import { KAFKA_OPTIONS, topicsOf, topicsPlaceOf } from './kafka-flags.ts'
import { readyVersions } from './model-versions.ts'

/** Flags of every verb that reads or changes the model registry. */
export const REGISTRY_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  model: {
    type: 'string',
    value: 'NAME',
    default: 'als-model',
    help: 'Name of the model: the topic of its rows',
  },
  ...KAFKA_OPTIONS,
  ...DATA_DIR_OPTION,
}

/**
 * Where the registry of topics is: the same Kafka, or beside the embedded log in a folder of its own,
 * so that a job which writes to the log does not keep others from a command.
 */
export function registryPlace(topics: TopicsPlace, root: string): TopicsPlace {
  return topics.kafka === undefined ? { logDirectory: join(root, 'registry') } : topics
}

/** The registry that the flags name. */
export function registryOf(flags: Flags): ModelRegistry {
  const { root } = dataDirectory(flags.string('data-dir'))
  const place = registryPlace(topicsPlaceOf(flags), root)
  return new ModelRegistry({ place, clock: systemClock })
}

/**
 * The registry's state with all that the model's topic holds: a model that the registry does not know
 * yet is read from its topic and registered.
 */
export async function adoptedState(flags: Flags, registry: ModelRegistry): Promise<RegistryState> {
  await using topics = await topicsOf(flags)
  return await adoptModel(registry, topics, flags.string('model'))
}

/** Registers what the topic holds, unless the registry knows the model. */
export async function adoptModel(
  registry: ModelRegistry,
  topics: TopicStore,
  model: string,
): Promise<RegistryState> {
  const state = await registry.read()
  if (state.models.has(model) || !(await topics.has(model))) return state
  return await registry.adopt(model, await readyVersions(topics, model))
}

/**
 * The version that a word names; where the registry does not know it, its topic is looked through.
 * Throws UNKNOWN_VERSION.
 */
export async function versionNamed(
  flags: Flags,
  registry: ModelRegistry,
  word: string,
): Promise<{ readonly state: RegistryState; readonly version: RegisteredVersion }> {
  const model = flags.string('model')
  const first = await adoptedState(flags, registry)
  // The latest one may have been published a moment ago without the registry.
  const known = word === 'latest' ? undefined : findVersion(first, model, word)
  if (known !== undefined) return { state: first, version: known }
  await using topics = await topicsOf(flags)
  const markers = (await topics.has(model)) ? await readyVersions(topics, model) : []
  const state = await registry.adopt(model, markers)
  const version = findVersion(state, model, word)
  if (version !== undefined) return { state, version }
  const numbers = [...(state.versions.get(model)?.keys() ?? [])].join(', ')
  throw new WeirError(
    'UNKNOWN_VERSION',
    `"${word}" names no version of ${model}; known are ${numbers === '' ? 'none' : numbers} (a number, an id, live or latest)`,
  )
}
