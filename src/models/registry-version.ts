import type { StoredCheck } from './registry-checks.ts'

/** Observations that a version was trained on: offsets from <= o < to of a partition. */
export interface DataRange {
  readonly topic: string
  readonly partition: number
  readonly from: number
  readonly to: number
}

/** A file that a version was trained on. */
export interface DataFile {
  readonly file: string
  /** SHA-256 of what was read, in hex. */
  readonly sha256: string
}

/** Parameters of training: plain data with stable names. */
export type Hyperparameters = Readonly<Record<string, number | string | boolean>>

/** Where a version comes from. Never changed after it was registered. */
export interface VersionLineage {
  readonly ranges: readonly DataRange[]
  readonly files: readonly DataFile[]
  /** Checkpoint or rows that training went on from. */
  readonly checkpoint?: string
  /** Id of the version that training was warm-started from. */
  readonly parent?: string
  /** The trainer and its revision, such as `als/1`. */
  readonly code: string
  readonly hyperparameters: Hyperparameters
  readonly metrics: Readonly<Record<string, number>>
  /** Event time of the newest observation, ms since 1970, -1 if unknown. */
  readonly newestEventMs: number
  /** Observations after the ranges that were replayed onto the rows before they went live. */
  readonly replayed?: readonly DataRange[]
}

/**
 * How far a version is. `candidate`: published, never live. `live`. `replaced`: was live, may come
 * back. `retired`: its rows are gone, its record stays.
 */
export type VersionState = 'candidate' | 'live' | 'replaced' | 'retired'

/** Something that happened to a version, kept in its lineage. */
export interface VersionNote {
  readonly atMs: number
  readonly event: 'registered' | 'promoted' | 'forced' | 'rolled-back-to' | 'replaced' | 'retired'
  readonly text?: string
}

/** An immutable model version as the registry knows it. */
export interface RegisteredVersion {
  /** Human name of the model; carries no version. */
  readonly name: string
  /** Hash of data ranges, parameters and code: equal inputs have equal names. */
  readonly processingName: string
  /** Unique id. */
  readonly id: string
  /** Number under which its rows lie, from 1. */
  readonly number: number
  /** Topic of its rows. */
  readonly topic: string
  readonly createdMs: number
  readonly dimension: number
  readonly users: number
  readonly items: number
  readonly lineage: VersionLineage
  readonly state: VersionState
  /** The last run of each check. */
  readonly checks: readonly StoredCheck[]
  readonly notes: readonly VersionNote[]
}

/** What the registry keeps of a model beside its versions. */
export interface RegisteredModel {
  readonly name: string
  /** Number of the live version, 0 while there is none. */
  readonly live: number
  /** The version that a rollback goes back to, 0 if there is none. */
  readonly rollback: number
  /** Grows with every switch. */
  readonly revision: number
}

/** The registry: a fold over its topic. */
export interface RegistryState {
  readonly models: ReadonlyMap<string, RegisteredModel>
  /** By model name, then by number, ascending. */
  readonly versions: ReadonlyMap<string, ReadonlyMap<number, RegisteredVersion>>
}

/** Versions of a model, ascending by number; none if the model is not known. */
export function versionsOf(state: RegistryState, name: string): readonly RegisteredVersion[] {
  return [...(state.versions.get(name)?.values() ?? [])].sort((a, b) => a.number - b.number)
}

/** The live version of a model, or undefined. */
export function liveVersionOf(state: RegistryState, name: string): RegisteredVersion | undefined {
  const live = state.models.get(name)?.live ?? 0
  return state.versions.get(name)?.get(live)
}

/** The version that a word names: its number, its id or a start of it, `live` or `latest`. */
export function findVersion(
  state: RegistryState,
  name: string,
  word: string,
): RegisteredVersion | undefined {
  const versions = versionsOf(state, name)
  if (word === 'live') return liveVersionOf(state, name)
  if (word === 'latest') return versions.at(-1)
  if (/^[0-9]+$/.test(word)) {
    const byNumber = versions.find(({ number }) => number === Number(word))
    if (byNumber !== undefined) return byNumber
  }
  const found = versions.filter(
    ({ id, processingName }) => id.startsWith(word) || processingName === word,
  )
  return found.length === 1 ? found[0] : undefined
}
