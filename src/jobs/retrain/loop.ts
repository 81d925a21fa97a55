import { openTopics } from '../../connectors/topics/open.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import type { Cancel } from '../../core/clock.ts'
import { isWeirError, requireArgument } from '../../core/errors.ts'
import {
  aFunction,
  count,
  flag,
  milliseconds,
  numberIn,
  objectWith,
  oneOf,
  positiveMilliseconds,
  required,
  wholeNumber,
} from '../../core/options/kinds.ts'
import { checkOptions, nested, type OptionShape } from '../../core/options/shape.ts'
import { kindOf } from '../../kinds/registered.ts'
import { comparedRecords, formOf } from '../../models/observations/compared-records.ts'
import { offsetsIn, rangesAfter } from '../../models/observations/topic-ranges.ts'
import type { DriftDetectorName } from '../../models/quality/drift-monitor.ts'
import type { DataRange } from '../../models/registry/ranges/data-range.ts'
import { type PresentTopic, rangesHere } from '../../models/registry/ranges/range-place.ts'
import {
  decideRetrain,
  errorTriggersOf,
  type RetrainDecision,
  type RetrainFacts,
  type RetrainPolicy,
} from '../../models/registry/retrain-trigger.ts'
import {
  liveVersionOf,
  type RegisteredVersion,
  type RegistryState,
  versionsOf,
} from '../../models/registry/version.ts'
import type { LiveErrorWatch, WatchedError } from './error-watch.ts'
import type { LoopClaim } from './loop-claim.ts'
import {
  type AnyRetrainOptions,
  RETRAIN,
  type RetrainOptions,
  type RetrainOutcome,
} from './options.ts'
import { retrainWith } from './retrain.ts'

/** Options of a `RetrainLoop`. */
export type RetrainLoopOptions = RetrainOptions & RetrainLoopEvents

/** When a `RetrainLoop` trains, and what it reports. */
export interface RetrainLoopEvents {
  readonly policy: RetrainPolicy
  /** Detector whose alarms count for the policy's drift trigger. @default 'adwin' */
  readonly detector?: DriftDetectorName
  /** Time between two evaluations of the triggers, ms. @default 1000 */
  readonly intervalMs?: number
  /** Measures the error of the live version; without it, the triggers that need it are refused. */
  readonly error?: Pick<LiveErrorWatch, 'look'>
  /** Called after each evaluation of the triggers. */
  readonly onLook?: (facts: RetrainFacts, decision: RetrainDecision) => void
  /** Called after each training. */
  readonly onOutcome?: (
    outcome: RetrainOutcome,
    decision: RetrainDecision & { readonly kind: 'train' },
  ) => void | Promise<void>
  /** Claim of the loop on the model; the loop ends when another one has taken it over. @default none */
  readonly claim?: Pick<LoopClaim, 'requireHeld'>
  /** Called when an evaluation or a training failed; the loop continues. */
  readonly onError?: (error: unknown) => void
}

const LOOP: OptionShape<AnyRetrainOptions & RetrainLoopEvents> = {
  ...RETRAIN,
  policy: required(
    nested<RetrainPolicy>({
      count,
      everyMs: milliseconds,
      errorLevel: numberIn(),
      errorRise: numberIn(),
      onDrift: flag,
      freshnessMs: milliseconds,
      minIntervalMs: milliseconds,
      minErrors: wholeNumber({ min: 0 }),
    }),
  ),
  detector: oneOf('adwin', 'page-hinkley'),
  intervalMs: positiveMilliseconds,
  error: objectWith('a LiveErrorWatch', 'look'),
  onLook: aFunction(),
  onOutcome: aFunction(),
  claim: objectWith('a LoopClaim', 'requireHeld'),
  onError: aFunction(),
}

/**
 * Retrains a model when a trigger fires: collects the facts, decides (`decideRetrain`), and runs
 * `retrain`, one at a time. Its state is in the registry and the topics, so it can be restarted.
 */
export class RetrainLoop {
  private readonly options: RetrainLoopOptions
  private cancel: Cancel | undefined
  /** By id of a version, whether it has read other records than the topic has. */
  private readonly compared = new Map<string, boolean>()
  private isAskedFor = false
  private isClosed = false
  private running: Promise<void> | undefined
  /** Time of the last attempt, so that a failed training is not repeated at every evaluation. */
  private triedMs = Number.NEGATIVE_INFINITY
  private readonly settleFenced = Promise.withResolvers<never>()
  /** Start of the last training that has ended with an outcome: it answers the alarms of before. */
  private answeredMs = Number.NEGATIVE_INFINITY

  /** Throws INVALID_ARGUMENT for a trigger that needs the error where none is measured. */
  constructor(options: RetrainLoopOptions) {
    checkOptions('new RetrainLoop', LOOP, options)
    kindOf(options)
    this.options = options
    // A caller that does not wait for it ends the loop itself.
    this.settleFenced.promise.catch(() => {})
    const [trigger] = errorTriggersOf(options.policy)
    requireArgument(
      options.error !== undefined || trigger === undefined,
      `the trigger ${trigger} needs the error of the live version; give the loop a LiveErrorWatch`,
    )
  }

  /** Rejects with COORDINATOR_FENCED when another loop has taken the model over, and this one has ended. */
  get fenced(): Promise<never> {
    return this.settleFenced.promise
  }

  /** Starts the loop. */
  start(): void {
    void this.tick()
  }

  /** Requests a training now: the manual trigger. */
  ask(): void {
    this.isAskedFor = true
  }

  /** Stops the loop after the current training, if there is one; idempotent. */
  async close(): Promise<void> {
    this.isClosed = true
    this.cancel?.()
    await this.running
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  private async tick(): Promise<void> {
    this.running = this.look().catch((error: unknown) => this.failed(error))
    await this.running
    if (this.isClosed) return
    const { clock, intervalMs = 1000 } = this.options
    this.cancel = clock.after(intervalMs, () => void this.tick())
  }

  private failed(error: unknown): void {
    if (isWeirError(error, 'COORDINATOR_FENCED')) {
      this.isClosed = true
      this.settleFenced.reject(error)
    } else this.options.onError?.(error)
  }

  private async look(): Promise<void> {
    await this.options.claim?.requireHeld()
    const facts = await this.facts()
    const decision = decideRetrain(this.options.policy, facts)
    this.options.onLook?.(facts, decision)
    if (decision.kind !== 'train') return
    this.isAskedFor = false
    this.triedMs = this.options.clock.nowMs()
    const startMs = this.triedMs
    const outcome = await retrainWith(this.options)
    this.answeredMs = startMs
    await this.options.onOutcome?.(outcome, decision)
  }

  private async facts(): Promise<RetrainFacts> {
    const { registry, model, observations, place, clock, error } = this.options
    const state = await registry.read()
    const newest = newestTrained(state, model, observations)
    const live = liveVersionOf(state, model)
    await using topics = await openTopics(place)
    const fresh = await this.fresh(topics, state)
    const nowMs = clock.nowMs()
    const watched = live === undefined ? undefined : await error?.look(live.number)
    const { atStart, driftAlarms } = await this.judged(watched, live, newest)
    return {
      isRunning: false,
      ...(live === undefined ? {} : { liveVersion: live.number }),
      isRolledBack: live?.notes.at(-1)?.event === 'rolled-back-to',
      isAskedFor: this.isAskedFor,
      newObservations: offsetsIn(fresh),
      msSinceTraining: nowMs - Math.max(newest?.createdMs ?? 0, this.triedMs),
      freshnessMs: freshnessOf(live, nowMs),
      error:
        watched === undefined
          ? undefined
          : { fadedMse: watched.fadedMse, count: watched.count, atStart, driftAlarms },
    }
  }

  /** Observations after the ranges of the version that was last trained on this topic; replayed ones count as new. */
  private async fresh(topics: TopicStore, state: RegistryState): Promise<readonly DataRange[]> {
    const { model, observations } = this.options
    if (!(await topics.has(observations))) return []
    const present = { topic: observations, ...(await topics.identity(observations)) }
    const trained = versionsOf(state, model).filter(
      ({ lineage }) => rangesHere(lineage.ranges, present).length > 0,
    )
    for (const version of trained.reverse()) {
      if (!(await this.hasReadOthers(topics, version, present))) {
        return await rangesAfter(topics, observations, version.lineage.ranges)
      }
    }
    return await rangesAfter(topics, observations, [])
  }

  /** Whether a version has read other records than the topic has; looked up once, as offsets are not written again. */
  private async hasReadOthers(
    topics: TopicStore,
    version: RegisteredVersion,
    present: PresentTopic,
  ): Promise<boolean> {
    const { id, lineage } = version
    const known = this.compared.get(id)
    if (known !== undefined) return known
    const ranges = rangesHere(lineage.ranges, present)
    const compared = await comparedRecords(topics, ranges, { ...formOf(version), part: 'last' })
    this.compared.set(id, compared.kind === 'other')
    return compared.kind === 'other'
  }

  /**
   * The error at go-live and the alarms that no training has answered. The error at go-live is stored in
   * the registry, so that a rise is measured from it by every later loop. An alarm is one until a
   * training has ended that began after it, whatever became of its candidate.
   */
  private async judged(
    watched: WatchedError | undefined,
    live: RegisteredVersion | undefined,
    newest: RegisteredVersion | undefined,
  ): Promise<{ readonly atStart: number; readonly driftAlarms: number }> {
    if (watched === undefined || live === undefined) return { atStart: Number.NaN, driftAlarms: 0 }
    const atStart = live.errorAtStart ?? watched.startMse
    if (live.errorAtStart === undefined && Number.isFinite(atStart)) {
      const { name, number } = live
      await this.options.registry.execute({ kind: 'record-error', name, number, mse: atStart })
    }
    const { lastMs } = watched.alarms[this.options.detector ?? 'adwin']
    const trainedMs = Number.isFinite(this.answeredMs) ? this.answeredMs : (newest?.createdMs ?? 0)
    // A rollback answers the alarms before it, too.
    const answeredMs = Math.max(trainedMs, rolledBackMs(live))
    return { atStart, driftAlarms: lastMs > answeredMs ? 1 : 0 }
  }
}

/** Time of the rollback that made a version live; 0 if none did. */
function rolledBackMs({ notes }: RegisteredVersion): number {
  const last = notes.at(-1)
  return last?.event === 'rolled-back-to' ? last.atMs : 0
}

/** Age of the newest training observation of a version, ms; NaN if unknown. */
function freshnessOf(version: RegisteredVersion | undefined, nowMs: number): number {
  const newest = version?.lineage.newestEventMs ?? -1
  return newest < 0 ? Number.NaN : nowMs - newest
}

/** The version that was last trained on a topic of this name, in any state and anywhere: its age counts. */
function newestTrained(
  state: RegistryState,
  model: string,
  topic: string,
): RegisteredVersion | undefined {
  return versionsOf(state, model).findLast(({ lineage }) =>
    lineage.ranges.some((range) => range.topic === topic),
  )
}
