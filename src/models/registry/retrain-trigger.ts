/** Reason for a retraining. */
export type RetrainTrigger =
  | 'manual'
  | 'drift'
  | 'error-level'
  | 'error-rise'
  | 'count'
  | 'freshness'
  | 'time'

/** Bounds of the triggers; a trigger without a bound never fires. */
export interface RetrainPolicy {
  /** Observations after those of the live version. */
  readonly count?: number
  /** Time since the last training, ms. */
  readonly everyMs?: number
  /** Faded mean squared error of the live version. */
  readonly errorLevel?: number
  /** Rise of this error since the version went live, as a share: 0.1 is a tenth. */
  readonly errorRise?: number
  /** A detector found a change in the error. @default false */
  readonly onDrift?: boolean
  /** Age of the newest observation that the live version was trained on, ms. */
  readonly freshnessMs?: number
  /** Minimum time between two trainings, ms; a manual one does not wait. @default 0 */
  readonly minIntervalMs?: number
  /** Errors over fewer ratings are ignored. @default `MIN_ERRORS` */
  readonly minErrors?: number
}

/** Errors over fewer ratings are ignored, unless a policy says otherwise. */
export const MIN_ERRORS = 100

/** Facts for the decision. */
export interface RetrainFacts {
  readonly isRunning: boolean
  readonly isAskedFor: boolean
  /** Undefined where none is live. */
  readonly liveVersion?: number
  /** The live version went live by a rollback, and nothing was promoted since. @default false */
  readonly isRolledBack?: boolean
  /** Observations after the live version's ranges. */
  readonly newObservations: number
  readonly msSinceTraining: number
  /** `now - newest training event` of the live version, ms; NaN while there is none. */
  readonly freshnessMs: number
  /** Prequential error of the live version; undefined where it is not measured. */
  readonly error:
    | {
        readonly fadedMse: number
        /** The error of the version when it went live; NaN if unknown. */
        readonly atStart: number
        readonly count: number
        /** Alarms of the detector that no training has answered. */
        readonly driftAlarms: number
      }
    | undefined
}

/** What to do now. */
export type RetrainDecision =
  | {
      readonly kind: 'train'
      readonly trigger: RetrainTrigger
      readonly value: number
      readonly bound: number
    }
  /** A training is running; triggers are checked again after it. */
  | { readonly kind: 'running' }
  /** A trigger fired too soon after the last training. */
  | { readonly kind: 'cooling'; readonly trigger: RetrainTrigger; readonly waitMs: number }
  /**
   * A trigger fired that was there before the rollback, too: a training would bring back what a person rejected. A
   * promotion, a training by hand, or an error that is too high lifts it.
   */
  | { readonly kind: 'held'; readonly trigger: RetrainTrigger }
  /** There are no new observations: a training would give the same version. */
  | { readonly kind: 'no-news' }
  | { readonly kind: 'wait' }

/**
 * Decides over observed facts: a pure function whose outcomes have names. If several triggers fire, the most urgent is
 * reported.
 */
export function decideRetrain(policy: RetrainPolicy, facts: RetrainFacts): RetrainDecision {
  if (facts.isRunning) return { kind: 'running' }
  if (facts.newObservations === 0) return { kind: 'no-news' }
  const [first] = firing(policy, facts)
  if (first === undefined) return { kind: 'wait' }
  if (facts.isRolledBack === true && !LIFTS.has(first.trigger)) {
    return { kind: 'held', trigger: first.trigger }
  }
  const waitMs = (policy.minIntervalMs ?? 0) - facts.msSinceTraining
  if (first.trigger !== 'manual' && waitMs > 0) {
    return { kind: 'cooling', trigger: first.trigger, waitMs }
  }
  return { kind: 'train', ...first }
}

/** The triggers of a policy that need the error of the live version. */
export function errorTriggersOf({
  errorLevel,
  errorRise,
  onDrift,
}: RetrainPolicy): readonly RetrainTrigger[] {
  return [
    ...(errorLevel === undefined ? [] : (['error-level'] as const)),
    ...(errorRise === undefined ? [] : (['error-rise'] as const)),
    ...(onDrift === true ? (['drift'] as const) : []),
  ]
}

/** Reasons that a rollback did not answer; they are the most urgent ones. */
const LIFTS: ReadonlySet<RetrainTrigger> = new Set(['manual', 'drift', 'error-level', 'error-rise'])

interface Firing {
  readonly trigger: RetrainTrigger
  readonly value: number
  readonly bound: number
}

/** Triggers that fire, most urgent first. */
function firing(policy: RetrainPolicy, facts: RetrainFacts): readonly Firing[] {
  const error =
    facts.error !== undefined && facts.error.count >= (policy.minErrors ?? MIN_ERRORS)
      ? facts.error
      : undefined
  const rise = error === undefined ? Number.NaN : error.fadedMse / error.atStart - 1
  const candidates: readonly [RetrainTrigger, number, number | undefined][] = [
    ['manual', facts.isAskedFor ? 1 : 0, 1],
    ['drift', error?.driftAlarms ?? 0, policy.onDrift === true ? 1 : undefined],
    ['error-level', error?.fadedMse ?? Number.NaN, policy.errorLevel],
    ['error-rise', rise, policy.errorRise],
    ['count', facts.newObservations, policy.count],
    ['freshness', facts.freshnessMs, policy.freshnessMs],
    ['time', facts.msSinceTraining, policy.everyMs],
  ]
  return candidates.flatMap(([trigger, value, bound]) =>
    bound !== undefined && value >= bound ? [{ trigger, value, bound }] : [],
  )
}
