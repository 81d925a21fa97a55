import type { Feedback } from '../feedback.ts'
import type { StoredCheck } from './checks/promotion-verdict.ts'
import type { LearningPhase } from './learning-phase.ts'
import type { DataFile, DataRange } from './ranges/data-range.ts'
import type { RetrainingLease } from './retraining-lease.ts'

/** Parameters of training: plain data with stable names. */
export type Hyperparameters = Readonly<Record<string, number | string | boolean>>

/** Origin of a version. It never changes after the registration. */
export interface VersionLineage {
  readonly ranges: readonly DataRange[]
  readonly files: readonly DataFile[]
  /** Checkpoint or rows that the training started from. */
  readonly checkpoint?: string
  /** Id of the version that the training was warm-started from. */
  readonly parent?: string
  /** The trainer and its revision, such as `als/1`. */
  readonly code: string
  readonly hyperparameters: Hyperparameters
  readonly metrics: Readonly<Record<string, number>>
  /** Event time of the newest observation, ms since 1970, -1 if unknown. */
  readonly newestEventMs: number
  /** Observations after the ranges, replayed onto the rows before the version went live. */
  readonly replayed?: readonly DataRange[]
}

/**
 * State of a version. `candidate`: published, never live. `live`. `replaced`: was live and may be live
 * again. `retired`: its rows are deleted, its record stays.
 */
export type VersionState = 'candidate' | 'live' | 'replaced' | 'retired'

/** An event of a version, stored in its lineage. */
export interface VersionNote {
  readonly atMs: number
  readonly event: 'registered' | 'promoted' | 'forced' | 'rolled-back-to' | 'replaced' | 'retired'
  readonly text?: string
}

/** Squared errors of a version on the pairs of a golden set. */
export interface GoldenErrors {
  /** Hash of the golden set. */
  readonly golden: string
  /** Base64 of float32, one for each pair, of at most 4,096 pairs of the set. */
  readonly squares: string
}

/** An immutable model version in the registry. */
export interface RegisteredVersion {
  /** Name of the model, without a version. */
  readonly name: string
  /** Hash of data ranges, parameters and code: equal inputs have equal names. */
  readonly processingName: string
  /** Unique id. */
  readonly id: string
  /** Number of the version in the keys of its rows, from 1. */
  readonly number: number
  /** Topic of its rows. */
  readonly topic: string
  readonly createdMs: number
  readonly dimension: number
  /** Whether rows carry biases; undefined in records of earlier builds. */
  readonly biased?: boolean
  readonly users: number
  readonly items: number
  readonly lineage: VersionLineage
  readonly state: VersionState
  /** Mean squared error of its first predictions after it went live; undefined until it is measured. */
  readonly errorAtStart?: number
  /** Its errors on the golden set of the last check: later candidates are compared with them. */
  readonly golden?: GoldenErrors
  /** Where learning on it stands; undefined where it was never stopped. */
  readonly learning?: LearningPhase
  /** The last run of each check. */
  readonly checks: readonly StoredCheck[]
  readonly notes: readonly VersionNote[]
}

/** Whether a version is of a linear model: its rows are blocks of weights, counted as items. */
export function isLinear({ users }: Pick<RegisteredVersion, 'users'>): boolean {
  return users === 0
}

/** The observations that a model is learned from. */
export interface LearningTopic {
  /** Topic of observations that a job learns the live version from; undefined if none has. */
  readonly learnsFrom?: string
  /** Id of that topic; missing where it is not known. */
  readonly learnsFromId?: string
  /**
   * By partition of its deltas, the first offset of a delta that was learned from that topic. Missing if it was learned
   * from no other topic before.
   */
  readonly deltasFrom?: readonly number[]
  /** What the job takes ratings for; missing for linear models, and in records of earlier builds. */
  readonly learnsFeedback?: Feedback
  /** What the rows that the job learns are; missing in records of earlier builds. */
  readonly learnsKind?: 'factors' | 'linear'
  /** The positive label that the job was given; missing where it learns each version with its own labels. */
  readonly learnsPositive?: number
}

/** A model in the registry, without its versions. */
export interface RegisteredModel extends LearningTopic {
  readonly name: string
  /** Number of the live version, 0 while there is none. */
  readonly live: number
  /** The version that a rollback makes live, 0 if there is none. */
  readonly rollback: number
  /** Grows with every switch. */
  readonly revision: number
  /** What a job said last that it serves: the version, the revision of that switch, and when. */
  readonly served?: {
    readonly number: number
    readonly revision: number
    readonly atMs: number
  }
  /** The loop that retrains it, on a cluster where loops of several folders meet. */
  readonly retraining?: RetrainingLease
}

/** The registry, folded from the records of its topic. */
export interface RegistryState {
  readonly models: ReadonlyMap<string, RegisteredModel>
  /** By model name, then by number, ascending. */
  readonly versions: ReadonlyMap<string, ReadonlyMap<number, RegisteredVersion>>
}

/** Versions of a model, ascending by number; none if the registry does not have the model. */
export function versionsOf(state: RegistryState, name: string): readonly RegisteredVersion[] {
  return [...(state.versions.get(name)?.values() ?? [])].sort((a, b) => a.number - b.number)
}

/** The live version of a model, or undefined. */
export function liveVersionOf(state: RegistryState, name: string): RegisteredVersion | undefined {
  const live = state.models.get(name)?.live ?? 0
  return state.versions.get(name)?.get(live)
}

/** Shortest start of an id that names a version. */
const SHORTEST_ID_START = 6

/**
 * The version that a word names: its number, its id, a start of it of 6 characters or more, its
 * processing name, `live` or `latest`. A word of digits is only a number. Undefined if no version or more
 * than one has the name.
 */
export function findVersion(
  state: RegistryState,
  name: string,
  word: string,
): RegisteredVersion | undefined {
  const versions = versionsOf(state, name)
  if (word === 'live') return liveVersionOf(state, name)
  if (word === 'latest') return versions.at(-1)
  if (/^[0-9]+$/.test(word)) return versions.find(({ number }) => number === Number(word))
  const isStart = word.length >= SHORTEST_ID_START
  const found = versions.filter(
    ({ id, processingName }) =>
      id === word || processingName === word || (isStart && id.startsWith(word)),
  )
  return found.length === 1 ? found[0] : undefined
}
