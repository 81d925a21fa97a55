import { openTopics } from '../connectors/topics/open-topics.ts'
import type { Cancel } from '../core/clock.ts'
import {
  liveVersionOf,
  type RegisteredVersion,
  type RegistryState,
  versionsOf,
} from '../models/registry-version.ts'
import {
  decideRetrain,
  type RetrainDecision,
  type RetrainFacts,
  type RetrainPolicy,
} from '../models/retrain-trigger.ts'
import { type RetrainOptions, type RetrainOutcome, retrain } from './retrain.ts'
import type { LiveErrorWatch } from './retrain-error.ts'
import { offsetsIn, rangesAfter } from './retrain-observations.ts'

/** Options of a `RetrainLoop`. */
export interface RetrainLoopOptions extends RetrainOptions {
  readonly policy: RetrainPolicy
  /** Time between two looks, ms. @default 1000 */
  readonly intervalMs?: number
  /** Measures the live version's error; without it the triggers on errors never fire. */
  readonly error?: LiveErrorWatch
  /** A look was taken. */
  readonly onLook?: (facts: RetrainFacts, decision: RetrainDecision) => void
  /** A training ended. */
  readonly onOutcome?: (
    outcome: RetrainOutcome,
    decision: RetrainDecision & { readonly kind: 'train' },
  ) => void | Promise<void>
  /** A look or a training failed; the next look comes in time. */
  readonly onError?: (error: unknown) => void
}

/**
 * Retrains a model by itself: looks at the facts, decides (`decideRetrain`), and runs `retrain`, one at
 * a time. What it knows is in the registry and the topics, so that it can be stopped and started.
 */
export class RetrainLoop {
  private readonly options: RetrainLoopOptions
  private cancel: Cancel | undefined
  private isAskedFor = false
  private isClosed = false
  private running: Promise<void> | undefined
  /** Time of the last training that gave no version, so that it is not tried at every look. */
  private triedMs = Number.NEGATIVE_INFINITY

  constructor(options: RetrainLoopOptions) {
    this.options = options
  }

  /** Begins to look. */
  start(): void {
    void this.tick()
  }

  /** Asks for a training now: the manual trigger. */
  ask(): void {
    this.isAskedFor = true
  }

  /** Ends after the training that is under way, if there is one; idempotent. */
  async close(): Promise<void> {
    this.isClosed = true
    this.cancel?.()
    await this.running
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  private async tick(): Promise<void> {
    this.running = this.look().catch((error: unknown) => this.options.onError?.(error))
    await this.running
    if (this.isClosed) return
    const { clock, intervalMs = 1000 } = this.options
    this.cancel = clock.after(intervalMs, () => void this.tick())
  }

  private async look(): Promise<void> {
    const facts = await this.facts()
    const decision = decideRetrain(this.options.policy, facts)
    this.options.onLook?.(facts, decision)
    if (decision.kind !== 'train') return
    this.isAskedFor = false
    this.triedMs = this.options.clock.nowMs()
    const outcome = await retrain(this.options)
    await this.options.onOutcome?.(outcome, decision)
  }

  private async facts(): Promise<RetrainFacts> {
    const { registry, model, observations, place, clock, error } = this.options
    const state = await registry.read()
    const newest = newestTrained(state, model, observations)
    const live = liveVersionOf(state, model)
    await using topics = await openTopics(place)
    const isThere = await topics.has(observations)
    const fresh = isThere ? await rangesAfter(topics, observations, coveredBy(newest)) : []
    const nowMs = clock.nowMs()
    const watched = live === undefined ? undefined : await error?.look(live.number)
    return {
      isRunning: false,
      isAskedFor: this.isAskedFor,
      newObservations: offsetsIn(fresh),
      msSinceTraining: nowMs - Math.max(newest?.createdMs ?? 0, this.triedMs),
      freshnessMs: freshnessOf(live, nowMs),
      error: watched,
    }
  }
}

/** `now - newest training event` of a version, ms; NaN if there is none or nothing is known. */
export function freshnessOf(version: RegisteredVersion | undefined, nowMs: number): number {
  const newest = version?.lineage.newestEventMs ?? -1
  return newest < 0 ? Number.NaN : nowMs - newest
}

/** The version that was trained last on the topic, whatever became of it. */
function newestTrained(
  state: RegistryState,
  model: string,
  topic: string,
): RegisteredVersion | undefined {
  return versionsOf(state, model).findLast(({ lineage }) =>
    lineage.ranges.some((range) => range.topic === topic),
  )
}

/** Only what it was trained on counts: what was replayed is worth a training. */
function coveredBy(version: RegisteredVersion | undefined) {
  return version?.lineage.ranges ?? []
}
