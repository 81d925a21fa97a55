import { openTopics, type TopicsPlace } from '../../connectors/topics/open.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import type { Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import {
  findVersion,
  type RegisteredVersion,
  type RegistryState,
} from '../../models/registry/version.ts'
import type { ModelRegistry } from './model-registry.ts'
import { readyVersions } from './model-versions.ts'

/** Options of a `ModelAdministration`. */
export interface ModelAdministrationOptions {
  readonly registry: ModelRegistry
  /** Place of the model topic. */
  readonly place: TopicsPlace
  /** Name of the model in the registry, and of its topic. */
  readonly model: string
  readonly clock: Clock
}

/** A version that a word names, and the registry that has it. */
export interface NamedVersion {
  readonly state: RegistryState
  readonly version: RegisteredVersion
}

/** A change of the live version. */
export interface LiveSwitch {
  /** Version that is live now, 0 for none. */
  readonly live: number
  readonly before: number
  /** Whether the checks were ignored. */
  readonly isForced: boolean
}

/**
 * Versions of one model, as commands and routes name, promote and roll them back. Versions that were
 * published without the registry are registered when they are needed.
 */
export class ModelAdministration {
  private readonly options: ModelAdministrationOptions

  constructor(options: ModelAdministrationOptions) {
    this.options = options
  }

  /** The registry as it is; changes nothing. */
  read(): Promise<RegistryState> {
    return this.options.registry.read()
  }

  /** The registry. A model that it does not have is read from its topic and registered. */
  async adopted(): Promise<RegistryState> {
    const { registry, model } = this.options
    const state = await registry.read()
    if (state.models.has(model)) return state
    return await this.withTopics(async (topics) => await this.adopt(topics, state))
  }

  /** The registry with every version of the topic; those that it does not have are registered. */
  async complete(): Promise<RegistryState> {
    const state = await this.options.registry.read()
    return await this.withTopics(async (topics) => await this.adopt(topics, state))
  }

  /**
   * The version that a word names (`findVersion`). If the registry does not have it, the versions of the
   * topic are registered first. Throws UNKNOWN_VERSION.
   */
  async named(word: string): Promise<NamedVersion> {
    const { model } = this.options
    const first = await this.adopted()
    // The latest version may have been published without the registry.
    const known = word === 'latest' ? undefined : findVersion(first, model, word)
    if (known !== undefined) return { state: first, version: known }
    const state = await this.withTopics(async (topics) => await this.adopt(topics, first))
    return { state, version: versionNamed(state, model, word) }
  }

  /**
   * Makes a version live, by default if no other one went live meanwhile. Throws UNKNOWN_VERSION,
   * PROMOTION_REFUSED, REGISTRY_CONFLICT.
   */
  async promote(
    { state, version }: NamedVersion,
    { expectLive, force }: { readonly expectLive?: number; readonly force?: string } = {},
  ): Promise<LiveSwitch> {
    const { registry, model, clock } = this.options
    const before = state.models.get(model)?.live ?? 0
    const { state: after } = await registry.require({
      kind: 'promote',
      name: model,
      number: version.number,
      expectedLive: expectLive ?? before,
      atMs: clock.nowMs(),
      ...(force === undefined ? {} : { force }),
    })
    const note = after.versions.get(model)?.get(version.number)?.notes.at(-1)
    return { live: version.number, before, isForced: note?.event === 'forced' }
  }

  /** Makes the previous live version live again. Throws ILLEGAL_STATE if there is none, REGISTRY_CONFLICT. */
  async rollBack({
    expectLive,
    reason,
  }: {
    readonly expectLive?: number | undefined
    readonly reason: string
  }): Promise<LiveSwitch> {
    const { registry, model: name, clock } = this.options
    const before = (await this.adopted()).models.get(name)?.live ?? 0
    const { state } = await registry.require({
      kind: 'rollback',
      name,
      expectedLive: expectLive ?? before,
      atMs: clock.nowMs(),
      reason,
    })
    return { live: state.models.get(name)?.live ?? 0, before, isForced: false }
  }

  private async adopt(topics: TopicStore, state: RegistryState): Promise<RegistryState> {
    const { registry, model } = this.options
    if (!(await topics.has(model))) return state
    return await registry.adopt(model, await readyVersions(topics, model))
  }

  private async withTopics<T>(work: (topics: TopicStore) => Promise<T>): Promise<T> {
    await using topics = await openTopics(this.options.place)
    return await work(topics)
  }
}

/** The version of a registry that a word names. Throws UNKNOWN_VERSION. */
export function versionNamed(state: RegistryState, model: string, word: string): RegisteredVersion {
  const version = findVersion(state, model, word)
  if (version !== undefined) return version
  const numbers = [...(state.versions.get(model)?.keys() ?? [])].join(', ')
  const present = numbers === '' ? 'it has no versions' : `its versions are ${numbers}`
  throw new WeirError(
    'UNKNOWN_VERSION',
    `there is no version "${word}" of ${model}; ${present} (give a number, an id, live or latest)`,
  )
}
