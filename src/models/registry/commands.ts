import {
  type PromotionVerdict,
  promotionVerdict,
  type StoredCheck,
} from './checks/promotion-verdict.ts'
import { notLearnable } from './learnable.ts'
import { isLearningStopped, type LearningPhase } from './learning-phase.ts'
import { mayBeOfSameInputs } from './processing-name.ts'
import type { RetrainingLease } from './retraining-lease.ts'
import {
  type GoldenErrors,
  type LearningTopic,
  type RegisteredModel,
  type RegisteredVersion,
  type RegistryState,
  type VersionNote,
  versionsOf,
} from './version.ts'

/** A change of the registry. `atMs` is the time of the command. */
export type RegistryCommand =
  /** Adds a candidate. */
  | { readonly kind: 'register'; readonly version: RegisteredVersion }
  /** Stores results of checks; each replaces the last run of the same check. */
  | {
      readonly kind: 'record-checks'
      readonly name: string
      readonly number: number
      readonly checks: readonly StoredCheck[]
    }
  /** Stores the error of a version's first predictions, once. */
  | {
      readonly kind: 'record-error'
      readonly name: string
      readonly number: number
      readonly mse: number
    }
  /** Records the phase that a job is in that learns a version. */
  | {
      readonly kind: 'record-phase'
      readonly name: string
      readonly number: number
      readonly learning: LearningPhase
    }
  /** Lets a job learn on a version again whose learning was stopped. */
  | {
      readonly kind: 'resume-learning'
      readonly name: string
      readonly number: number
      readonly atMs: number
      readonly reason: string
    }
  /** Stores the errors of a version on a golden set. */
  | {
      readonly kind: 'record-golden'
      readonly name: string
      readonly number: number
      readonly golden: GoldenErrors
    }
  /** Records that a job serves the live version. */
  | {
      readonly kind: 'record-served'
      readonly name: string
      readonly number: number
      readonly atMs: number
    }
  /** Records the topic that a job learns the model from. */
  | {
      readonly kind: 'record-learning'
      readonly name: string
      readonly learning: LearningTopic
    }
  /** Gives or renews the lease of a loop that retrains the model, if the one who has it allows that. */
  | {
      readonly kind: 'lease-retraining'
      readonly name: string
      readonly lease: RetrainingLease
      readonly mayTake: (held: RetrainingLease | undefined) => boolean
    }
  /** Ends the lease of a loop, if it still has it. */
  | { readonly kind: 'end-retraining'; readonly name: string; readonly process: string }
  /** Makes a version live. */
  | {
      readonly kind: 'promote'
      readonly name: string
      readonly number: number
      /** The version that the caller expects to be live, 0 for none. */
      readonly expectedLive: number
      readonly atMs: number
      /** Reason for ignoring the checks; stored in the lineage. */
      readonly force?: string
    }
  /** Makes the previous live version live again. */
  | {
      readonly kind: 'rollback'
      readonly name: string
      readonly expectedLive: number
      readonly atMs: number
      readonly reason: string
    }
  /** Records that the rows of a version were deleted. */
  | {
      readonly kind: 'retire'
      readonly name: string
      readonly number: number
      readonly atMs: number
    }

/** Outcome of a command. */
export type RegistryOutcome =
  | {
      readonly kind: 'changed'
      /** Records to write in one transaction. */
      readonly models: readonly RegisteredModel[]
      readonly versions: readonly RegisteredVersion[]
    }
  /** There is nothing to do. */
  | { readonly kind: 'unchanged' }
  /** There is a version of the same inputs. */
  | { readonly kind: 'exists'; readonly version: RegisteredVersion }
  /** Another version has the number. */
  | { readonly kind: 'number-taken'; readonly next: number }
  | { readonly kind: 'unknown-version'; readonly known: readonly number[] }
  /** The live version is not the one that the caller expected. */
  | { readonly kind: 'conflict'; readonly live: number }
  | { readonly kind: 'refused'; readonly verdict: PromotionVerdict }
  | { readonly kind: 'no-rollback-target' }
  /** Another loop retrains the model; undefined: none does any more. */
  | { readonly kind: 'held'; readonly lease: RetrainingLease | undefined }
  /** The live version and its rollback target cannot be retired, and a retired version cannot serve. */
  | { readonly kind: 'in-use' }
  | { readonly kind: 'retired' }

const NO_MODEL = { live: 0, rollback: 0, revision: 0 }

/** Decides a command for the current registry: a pure function whose outcomes have names. */
export function decideCommand(state: RegistryState, command: RegistryCommand): RegistryOutcome {
  if (command.kind === 'register') return register(state, command.version)
  const { name } = command
  const model: RegisteredModel = state.models.get(name) ?? { name, ...NO_MODEL }
  if (command.kind === 'record-served') return recordServed(model, command)
  if (command.kind === 'record-learning') return recordLearning(state, model, command.learning)
  if (command.kind === 'lease-retraining') return lease(state, model, command)
  if (command.kind === 'end-retraining') return endLease(model, command.process)
  const number = command.kind === 'rollback' ? model.rollback : command.number
  if (command.kind === 'rollback' && number === 0) return { kind: 'no-rollback-target' }
  const version = state.versions.get(name)?.get(number)
  if (version === undefined) {
    const known = versionsOf(state, name).map((each) => each.number)
    return { kind: 'unknown-version', known }
  }
  switch (command.kind) {
    case 'record-checks':
      return recordChecks(version, command.checks)
    case 'record-golden':
      return recordGolden(version, command.golden)
    case 'record-phase':
      return recordPhase(version, command.learning)
    case 'resume-learning':
      return resumeLearning(version, command)
    case 'record-error':
      return recordError(version, command.mse)
    case 'retire':
      return retire(model, version, command.atMs)
    case 'promote':
      return promote({ state, model, version }, command)
    case 'rollback':
      return rollback({ state, model, version }, command)
  }
}

function register(state: RegistryState, version: RegisteredVersion): RegistryOutcome {
  const versions = versionsOf(state, version.name)
  const same = versions.find((each) => each.state !== 'retired' && mayBeOfSameInputs(each, version))
  if (same !== undefined) return { kind: 'exists', version: same }
  if (versions.some(({ number }) => number === version.number)) {
    return { kind: 'number-taken', next: (versions.at(-1)?.number ?? 0) + 1 }
  }
  const models = state.models.has(version.name) ? [] : [{ name: version.name, ...NO_MODEL }]
  return { kind: 'changed', models, versions: [version] }
}

function recordChecks(version: RegisteredVersion, checks: readonly StoredCheck[]): RegistryOutcome {
  if (checks.length === 0) return { kind: 'unchanged' }
  const others = version.checks.filter(({ check }) => !checks.some((run) => run.check === check))
  return { kind: 'changed', models: [], versions: [{ ...version, checks: [...others, ...checks] }] }
}

function recordGolden(version: RegisteredVersion, golden: GoldenErrors): RegistryOutcome {
  if (version.golden?.golden === golden.golden) return { kind: 'unchanged' }
  return { kind: 'changed', models: [], versions: [{ ...version, golden }] }
}

/** A job that reads the registry late says nothing about a later phase. */
function recordPhase(version: RegisteredVersion, learning: LearningPhase): RegistryOutcome {
  if (learning.phase <= (version.learning?.phase ?? 0)) return { kind: 'unchanged' }
  return { kind: 'changed', models: [], versions: [{ ...version, learning }] }
}

function resumeLearning(
  version: RegisteredVersion,
  { atMs, reason: text }: RegistryCommand & { readonly kind: 'resume-learning' },
): RegistryOutcome {
  const { phase = 0 } = version.learning ?? {}
  if (!isLearningStopped(phase)) return { kind: 'unchanged' }
  return recordPhase(version, { phase: phase + 1, atMs, text })
}

function recordError(version: RegisteredVersion, mse: number): RegistryOutcome {
  if (version.errorAtStart !== undefined) return { kind: 'unchanged' }
  return { kind: 'changed', models: [], versions: [{ ...version, errorAtStart: mse }] }
}

/** A job that switched late says nothing about the version that is live now. */
function recordServed(
  model: RegisteredModel,
  { number, atMs }: RegistryCommand & { readonly kind: 'record-served' },
): RegistryOutcome {
  const { live, revision, served } = model
  const isKnown = served?.number === number && served.revision === revision
  if (live !== number || isKnown) return { kind: 'unchanged' }
  return {
    kind: 'changed',
    models: [{ ...model, served: { number, revision, atMs } }],
    versions: [],
  }
}

function recordLearning(
  state: RegistryState,
  model: RegisteredModel,
  learning: LearningTopic,
): RegistryOutcome {
  const isKnown = isSameLearning(model, learning)
  // A model that the registry does not have is registered by what publishes or promotes it.
  if (!state.models.has(model.name) || isKnown) return { kind: 'unchanged' }
  const others = Object.entries(model).filter(([key]) => !LEARNING_FIELDS.some((f) => f === key))
  const kept = Object.fromEntries(others) as unknown as RegisteredModel
  return { kind: 'changed', models: [{ ...kept, ...learning }], versions: [] }
}

/** What a job says of itself when it begins to learn. */
const LEARNING_FIELDS = [
  'learnsFrom',
  'learnsFromId',
  'learnsFeedback',
  'learnsKind',
  'learnsPositive',
] as const satisfies readonly (keyof LearningTopic)[]

/** Whether a job has said the same of itself before. */
export function isSameLearning(left: LearningTopic, right: LearningTopic): boolean {
  return LEARNING_FIELDS.every((field) => left[field] === right[field])
}

/** A model that the registry does not have is registered by what publishes it: until then there is nothing to lease. */
function lease(
  state: RegistryState,
  model: RegisteredModel,
  { lease: given, mayTake }: RegistryCommand & { readonly kind: 'lease-retraining' },
): RegistryOutcome {
  if (!state.models.has(model.name)) return { kind: 'unchanged' }
  if (!mayTake(model.retraining)) return { kind: 'held', lease: model.retraining }
  return { kind: 'changed', models: [{ ...model, retraining: given }], versions: [] }
}

function endLease({ retraining, ...model }: RegisteredModel, process: string): RegistryOutcome {
  if (retraining?.process !== process) return { kind: 'unchanged' }
  return { kind: 'changed', models: [model], versions: [] }
}

/** A model in the registry, and the version of it that a command is about. */
interface Target {
  readonly state: RegistryState
  readonly model: RegisteredModel
  readonly version: RegisteredVersion
}

function promote(
  target: Target,
  command: RegistryCommand & { readonly kind: 'promote' },
): RegistryOutcome {
  const { model, version } = target
  if (model.live === version.number) return { kind: 'unchanged' }
  if (model.live !== command.expectedLive) return { kind: 'conflict', live: model.live }
  if (version.state === 'retired') return { kind: 'retired' }
  const unlearned = notLearnable(model, version)
  const verdict: PromotionVerdict =
    unlearned === undefined
      ? promotionVerdict(version.checks, model.live)
      : { kind: 'not-learnable', ...unlearned }
  if (verdict.kind !== 'allowed' && command.force === undefined) return { kind: 'refused', verdict }
  const note: VersionNote =
    verdict.kind === 'allowed'
      ? { atMs: command.atMs, event: 'promoted' }
      : { atMs: command.atMs, event: 'forced', text: command.force ?? '' }
  return switched(target, note)
}

function rollback(
  target: Target,
  command: RegistryCommand & { readonly kind: 'rollback' },
): RegistryOutcome {
  const { model, version } = target
  if (model.live !== command.expectedLive) return { kind: 'conflict', live: model.live }
  if (version.state === 'retired') return { kind: 'retired' }
  const { atMs, reason: text } = command
  return switched(target, { atMs, event: 'rolled-back-to', text })
}

/** Makes the version live; the previous one becomes the rollback target. */
function switched({ state, model, version }: Target, note: VersionNote): RegistryOutcome {
  const before = state.versions.get(model.name)?.get(model.live)
  const versions: RegisteredVersion[] = [
    { ...version, state: 'live', notes: [...version.notes, note] },
  ]
  if (before !== undefined) {
    const replaced: VersionNote = {
      atMs: note.atMs,
      event: 'replaced',
      text: `by version ${version.number}`,
    }
    versions.push({ ...before, state: 'replaced', notes: [...before.notes, replaced] })
  }
  const models = [
    {
      ...model,
      live: version.number,
      rollback: before?.number ?? 0,
      revision: model.revision + 1,
    },
  ]
  return { kind: 'changed', models, versions }
}

function retire(model: RegisteredModel, version: RegisteredVersion, atMs: number): RegistryOutcome {
  if (version.state === 'retired') return { kind: 'unchanged' }
  if (model.live === version.number || model.rollback === version.number) return { kind: 'in-use' }
  const notes: readonly VersionNote[] = [...version.notes, { atMs, event: 'retired' }]
  return { kind: 'changed', models: [], versions: [{ ...version, state: 'retired', notes }] }
}

/**
 * The versions that a policy of keeping `retain` versions drops: the oldest ones, but never the live
 * version, its rollback target or the newest candidate.
 */
export function versionsToRetire(
  state: RegistryState,
  name: string,
  retain: number,
): readonly RegisteredVersion[] {
  const model = state.models.get(name)
  const present = versionsOf(state, name).filter((version) => version.state !== 'retired')
  const newest = present.at(-1)
  const kept = new Set([model?.live, model?.rollback, newest?.number])
  const free = present.filter(({ number }) => !kept.has(number))
  const room = Math.max(0, retain - (present.length - free.length))
  return free.slice(0, Math.max(0, free.length - room))
}
