import { openTopics } from '../../connectors/topics/open.ts'
import type { TopicsPlace } from '../../connectors/topics/place.ts'
import type { Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { nearestOf } from '../../core/text/nearest-word.ts'
import type { UnfinishedVersion } from '../registry/unfinished.ts'
import { findVersion, type RegisteredVersion, type RegistryState } from '../registry/version.ts'
import type { ModelRegistry } from './model-registry.ts'
import { type PublishedVersions, publishedVersions, unfinishedVersions } from './model-versions.ts'

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

/** All versions of a model. */
export interface AllVersions {
  readonly state: RegistryState
  /** Versions of the topic that are not whole, ascending. */
  readonly unfinished: readonly UnfinishedVersion[]
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
 * Versions of one model, as commands and routes name, promote and roll them back. What only reads changes nothing: it sees
 * the versions that were published without the registry as `register` would register them.
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

  /** The registry with every version of the topic; changes nothing. */
  async complete(): Promise<RegistryState> {
    return (await this.all()).state
  }

  /** The registry with every version of the topic, and those that are not whole; changes nothing. */
  async all(): Promise<AllVersions> {
    const { registry, model, clock } = this.options
    return await this.withTopic(async (published) => {
      const state = await registry.withVersions(model, published.ready)
      const unfinished = unfinishedVersions(published, state.versions.get(model), clock.nowMs())
      // A whole candidate is among the others.
      return { state, unfinished: unfinished.filter(({ kind }) => kind !== 'unregistered') }
    })
  }

  /** Registers every version of the topic that the registry does not have. */
  async register(): Promise<RegistryState> {
    const { registry, model } = this.options
    return await this.withTopic(({ ready }) => registry.adopt(model, ready))
  }

  /** The version that a word names (`findVersion`); changes nothing. Throws UNKNOWN_VERSION. */
  async named(word: string): Promise<NamedVersion> {
    const { registry, model } = this.options
    const state = await registry.read()
    // The latest version may have been published without the registry.
    const known = word === 'latest' ? undefined : findVersion(state, model, word)
    if (known !== undefined) return { state, version: known }
    return namedIn(await this.complete(), model, word)
  }

  /** As `named`, of a version that the registry then has: for what changes it. */
  async registered(word: string): Promise<NamedVersion> {
    return namedIn(await this.register(), this.options.model, word)
  }

  /**
   * Makes a registered version live, by default if no other one went live meanwhile. Throws UNKNOWN_VERSION,
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
    const isForced = before !== version.number && note?.event === 'forced'
    return { live: version.number, before, isForced }
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
    const before = (await this.register()).models.get(name)?.live ?? 0
    const { state } = await registry.require({
      kind: 'rollback',
      name,
      expectedLive: expectLive ?? before,
      atMs: clock.nowMs(),
      reason,
    })
    return { live: state.models.get(name)?.live ?? 0, before, isForced: false }
  }

  private async withTopic<T>(work: (published: PublishedVersions) => Promise<T>): Promise<T> {
    const { model, place } = this.options
    await using topics = await openTopics(place)
    return await work(await publishedVersions(topics, model))
  }
}

function namedIn(state: RegistryState, model: string, word: string): NamedVersion {
  return { state, version: versionNamed(state, model, word) }
}

/** The version of a registry that a word names. Throws UNKNOWN_VERSION. */
export function versionNamed(state: RegistryState, model: string, word: string): RegisteredVersion {
  const version = findVersion(state, model, word)
  if (version !== undefined) return version
  const versions = [...(state.versions.get(model)?.values() ?? [])]
  const numbers = versions.map(({ number }) => number).join(', ')
  const names = versions.map(({ processingName }) => processingName)
  const nearest = /^[0-9]+$/.test(word) ? undefined : nearestOf(word, ['live', 'latest', ...names])
  const meant = nearest === undefined || nearest === word ? '' : `did you mean "${nearest}"? `
  const present = `${meant}${numbers === '' ? 'it has no versions' : `its versions are ${numbers}`}`
  throw new WeirError(
    'UNKNOWN_VERSION',
    `there is no version "${word}" of ${model}; ${present} (give a number, an id, live or latest)`,
  )
}
