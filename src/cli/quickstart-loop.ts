import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { WeirClient } from '../client/weir-client.ts'
import type { TopicStore } from '../connectors/topics/topic-store.ts'
import { sleep, systemClock } from '../core/clock.ts'
import { WeirError } from '../core/errors.ts'
import type { ModelRegistry } from '../jobs/model-registry.ts'
import { type RetrainOutcome, retrain } from '../jobs/retrain.ts'
import type { RetrainAlsOptions } from '../jobs/retrain-messages.ts'
import { offsetsIn } from '../jobs/retrain-observations.ts'
import { RetrainProcess } from '../jobs/retrain-process.ts'
import { PageHinkley } from '../models/drift-page-hinkley.ts'
import type { OnlineRuleOptions } from '../models/online-rules.ts'
import type { Rating } from '../models/rating.ts'
import { alsOptionsOf } from './als-training-flags.ts'
import { type CommandIo, type Flags, InterruptedError } from './command.ts'
import type { DataDirectory } from './data-directory.ts'
import { topicsPlaceOf } from './kafka-flags.ts'
import type { StreamFeeder } from './quickstart-feeder.ts'
import type { FrozenModel } from './quickstart-frozen.ts'
import { LearnedErrors } from './quickstart-learned.ts'
import {
  count,
  type ErrorPair,
  errorsInWords,
  LiveLine,
  outcomeInWords,
} from './quickstart-loop-text.ts'
import type { LoopStream } from './quickstart-stream.ts'
import type { Tell } from './quickstart-text.ts'
import type { BackgroundTraffic } from './quickstart-traffic.ts'

/** How the quickstart's job learns, and how a candidate is brought up to date. */
export const LOOP_RULE: OnlineRuleOptions = { rule: 'sgd' }

/** Batches after the drift was found, before it is trained. */
const BATCHES_TO_TRAIN = 14
/** Batches kept for the promoted version. */
const BATCHES_AFTER = 2
/** Batches in which the drift is looked for. */
const BATCHES_TO_DETECT = 4
const TRICKLE_MS = 200
const ANSWER_POLL_MS = 2
const SWITCH_TIMEOUT_MS = 60_000

/** What the loop works with. */
export interface LoopContext {
  readonly flags: Flags
  readonly io: CommandIo
  readonly tell: Tell
  readonly data: DataDirectory
  readonly topics: TopicStore
  readonly registry: ModelRegistry
  readonly client: WeirClient
  readonly traffic: BackgroundTraffic
  readonly feeder: StreamFeeder
  readonly stream: LoopStream
  readonly frozen: FrozenModel
  /** The version that is live when the loop begins. */
  readonly live: number
  /** The version that ratings are learned on now. */
  readonly learningOn: () => number
}

/** Figures of the loop; null where a stage was left out or came to nothing. */
export interface LoopFigures {
  /** Error of the first and of the last ratings while it learned, and of the frozen model on the last. */
  learnRmseBefore: number | null
  learnRmseAfter: number | null
  frozenRmse: number | null
  /** Ratings from the drift until the detector fired, and the errors of the last of them. */
  driftDetectedAfter: number | null
  driftRmse: number | null
  driftFrozenRmse: number | null
  retrainSeconds: number | null
  trainedOn: number | null
  replayed: number | null
  candidateRmse: number | null
  candidateLiveRmse: number | null
  promotedVersion: number | null
  promotedRmse: number | null
  rolledBackTo: number | null
  rollbackMs: number | null
  /** The version that is live at the end. */
  liveVersion: number
  requests: number
  failedRequests: number
}

/** Learning, a drift, a retraining, a promotion and a rollback, one after the other. */
export class QuickstartLoop {
  private readonly context: LoopContext
  private readonly errors: LearnedErrors
  private readonly detector = new PageHinkley({ delta: 0.02, threshold: 0.2, minErrors: 3 })
  private readonly figures: LoopFigures
  private isInterrupted = false
  private process: RetrainProcess | undefined

  constructor(context: LoopContext) {
    this.context = context
    this.errors = new LearnedErrors(context.client, this.pause)
    this.figures = { ...NO_FIGURES, liveVersion: context.live }
    void context.io.interrupted.then(() => {
      this.isInterrupted = true
      void this.process?.[Symbol.asyncDispose]()
    })
  }

  /** Runs all of it. Throws InterruptedError after Ctrl-C; the next run goes on with the stream. */
  async run(): Promise<LoopFigures> {
    try {
      await this.learn()
      await this.drift()
      const outcome = await this.retrain()
      if (outcome.kind === 'promoted') {
        await this.promoted(outcome.version.number, outcome.gap)
        await this.rollback(outcome.version.number)
      }
      return { ...this.figures, ...this.context.traffic.figures }
    } catch (error) {
      // What Ctrl-C ended fails in many ways.
      if (this.isInterrupted) throw new InterruptedError('interrupted in the loop')
      throw error
    }
  }

  private readonly pause = async (ms: number): Promise<void> => {
    if (!this.isInterrupted) await sleep(systemClock, ms)
    if (this.isInterrupted) throw new InterruptedError('interrupted')
  }

  // ---- Learning and drift ------------------------------------------------------------------------

  private async learn(): Promise<void> {
    const { feeder, stream, io, tell, live } = this.context
    await this.settled()
    await this.errors.since(live)
    if (feeder.calmLeft === 0) return
    tell('stream', `${stream.calmInWords}: into topic ${this.context.flags.string('observations')}`)
    const line = new LiveLine('learn', { io, tell, each: 3 })
    let first: ErrorPair | undefined
    let last: ErrorPair = { learned: Number.NaN, frozen: Number.NaN }
    while (feeder.calmLeft > 0) {
      last = await this.look(await feeder.next(stream.batch))
      first ??= last
      this.detector.add(last.learned ** 2)
      line.look(`${count(feeder.fed)} ratings: ${errorsInWords(last)}`)
    }
    line.end(
      `${count(feeder.fed)} ratings learned, each predicted first: RMSE ${first!.learned.toFixed(4)} -> ${last.learned.toFixed(4)}, without learning ${first!.frozen.toFixed(4)} -> ${last.frozen.toFixed(4)}`,
    )
    this.figures.learnRmseBefore = first!.learned
    this.figures.learnRmseAfter = last.learned
    this.figures.frozenRmse = last.frozen
  }

  /** Errors on ratings that were just fed, once they are learned. */
  private async look(fed: readonly Rating[]): Promise<ErrorPair> {
    await this.settled()
    return await this.errorsOf(this.context.live, fed)
  }

  private async errorsOf(version: number, fed: readonly Rating[]): Promise<ErrorPair> {
    await this.pause(0)
    const { ratings, sum } = await this.errors.since(version)
    return {
      learned: Math.sqrt(sum / ratings),
      frozen: Math.sqrt(this.context.frozen.squaredError(fed) / fed.length),
    }
  }

  /** Waits until all that was fed is learned on the version that the loop began with. */
  private async settled(): Promise<void> {
    await this.errors.until(this.context.live, this.context.feeder.fed)
  }

  private async drift(): Promise<void> {
    const { feeder, stream, io, tell } = this.context
    const before = this.figures.learnRmseAfter
    if (before === null || feeder.drifted.fed > 0) return
    tell('drift', stream.driftInWords)
    const line = new LiveLine('', { io, tell, each: BATCHES_TO_DETECT })
    for (let batches = 0; batches < BATCHES_TO_DETECT && feeder.drifted.left > 0; batches++) {
      const errors = await this.look(await feeder.next(stream.batch))
      if (!this.detector.add(errors.learned ** 2)) {
        line.look(`${count(feeder.drifted.fed)} ratings: ${errorsInWords(errors)}`)
        continue
      }
      const detected = feeder.drifted.fed
      line.end(
        `Page-Hinkley fires after ${count(detected)} ratings: RMSE ${before.toFixed(4)} -> ${errors.learned.toFixed(4)}, without learning ${errors.frozen.toFixed(4)}`,
      )
      this.figures.driftDetectedAfter = detected
      this.figures.driftRmse = errors.learned
      this.figures.driftFrozenRmse = errors.frozen
      return
    }
    line.end('the detector did not fire; it is trained all the same')
  }

  // ---- Retraining --------------------------------------------------------------------------------

  private async retrain(): Promise<RetrainOutcome> {
    const { feeder, stream, tell } = this.context
    const { batch } = stream
    const reserve = BATCHES_AFTER * batch
    const wanted = (this.figures.driftDetectedAfter ?? 0) + BATCHES_TO_TRAIN * batch
    while (feeder.drifted.fed < wanted && feeder.drifted.left > reserve) {
      await feeder.next(Math.min(batch, feeder.drifted.left - reserve))
      await this.pause(0)
    }
    const newest = feeder.drifted.fed - (this.figures.driftDetectedAfter ?? 0)
    const live = await this.look([])
    tell(
      'retrain',
      `on the ${count(newest)} ratings since then, in a process of its own; the live model learned them too: RMSE ${live.learned.toFixed(4)}`,
    )
    const startMs = systemClock.monotonicMs()
    const outcome = await this.trainedWhileFeeding(newest, reserve)
    const seconds = (systemClock.monotonicMs() - startMs) / 1000
    this.figures.retrainSeconds = seconds
    this.note(outcome)
    tell('', `${outcomeInWords(outcome)}`)
    return outcome
  }

  /** Ratings go on coming while it is trained. */
  private async trainedWhileFeeding(newest: number, reserve: number): Promise<RetrainOutcome> {
    const { feeder, stream } = this.context
    let isTrained = false
    const training = this.train(newest).finally(() => {
      isTrained = true
    })
    const trickle = Math.ceil(stream.batch / 15)
    const feeding = async (): Promise<void> => {
      while (!isTrained && feeder.drifted.left > reserve) {
        await feeder.next(Math.min(trickle, feeder.drifted.left - reserve))
        await this.pause(TRICKLE_MS)
      }
    }
    const [outcome] = await Promise.allSettled([training, feeding()])
    if (outcome.status === 'rejected') throw outcome.reason
    await this.pause(0)
    return outcome.value
  }

  private async train(newest: number): Promise<RetrainOutcome> {
    const { flags, data, registry, client, stream } = this.context
    return await retrain({
      place: topicsPlaceOf(flags),
      registry,
      model: flags.string('topic'),
      observations: flags.string('observations'),
      als: alsOptionsOf(flags) as RetrainAlsOptions,
      rule: LOOP_RULE,
      reader: client,
      golden: { ratings: stream.golden, subject: 'quickstart: ratings after the drift' },
      // The machine that shows it may be busy with anything.
      limits: { serving: { maxP99Ms: 2000 } },
      temporary: join(data.root, 'retraining'),
      newest,
      start: () => {
        this.process = new RetrainProcess()
        return this.process
      },
      newId: randomUUID,
      clock: systemClock,
    })
  }

  private note(outcome: RetrainOutcome): void {
    if (outcome.kind === 'nothing-to-train-on') return
    const { ranges, replayed } = outcome.version.lineage
    this.figures.trainedOn = offsetsIn(ranges)
    this.figures.replayed = offsetsIn(replayed ?? [])
    if (outcome.kind !== 'promoted' && outcome.kind !== 'refused') return
    this.figures.candidateRmse = outcome.checks.candidate?.rmse ?? null
    this.figures.candidateLiveRmse = outcome.checks.live?.rmse ?? null
  }

  // ---- Switching ---------------------------------------------------------------------------------

  private async promoted(version: number, gap: number): Promise<void> {
    const { feeder, stream, tell, traffic, live } = this.context
    await this.untilAnsweredBy(version)
    this.figures.promotedVersion = version
    this.figures.liveVersion = version
    const { requests, failedRequests } = traffic.figures
    tell(
      'promote',
      `version ${version} answers, before it ${live}; ${count(requests)} predictions in the background so far, ${count(failedRequests)} failed; ${count(this.figures.replayed ?? 0)} ratings replayed before the switch, the ${count(gap)} since learned after it`,
    )
    await this.untilLearningOn(version)
    const before = await this.errors.told(version)
    const fed = [...(await feeder.next(stream.batch)), ...(await feeder.next(stream.batch))]
    await this.errors.until(version, before.ratings + fed.length)
    const errors = await this.errorsOf(version, fed)
    if (!Number.isFinite(errors.learned)) return
    this.figures.promotedRmse = errors.learned
    tell('', `${count(fed.length)} ratings later: ${errorsInWords(errors)}`)
  }

  private async rollback(version: number): Promise<void> {
    const { tell, live } = this.context
    const backMs = await this.goBack(version, live)
    this.figures.rolledBackTo = live
    this.figures.rollbackMs = backMs
    const forwardMs = await this.goBack(live, version)
    tell(
      'rollback',
      `version ${live} answers again ${count(backMs)} ms after the command; a second rollback goes forward: version ${version}, ${count(forwardMs)} ms`,
    )
  }

  /** Rolls back and waits for an answer; returns how long that took. */
  private async goBack(from: number, to: number): Promise<number> {
    const { registry, flags } = this.context
    const startMs = systemClock.monotonicMs()
    await registry.require({
      kind: 'rollback',
      name: flags.string('topic'),
      expectedLive: from,
      atMs: systemClock.nowMs(),
      reason: 'the quickstart shows it',
    })
    await this.untilAnsweredBy(to)
    this.figures.liveVersion = to
    return Math.round(systemClock.monotonicMs() - startMs)
  }

  /** Learning follows the switch a moment later; what comes before is learned on the old version. */
  private async untilLearningOn(version: number): Promise<void> {
    const endMs = systemClock.monotonicMs() + SWITCH_TIMEOUT_MS
    while (this.context.learningOn() !== version && systemClock.monotonicMs() < endMs) {
      await this.pause(ANSWER_POLL_MS)
    }
  }

  private async untilAnsweredBy(version: number): Promise<void> {
    const endMs = systemClock.monotonicMs() + SWITCH_TIMEOUT_MS
    while ((await this.context.traffic.versionOfAnswer()) !== version) {
      if (systemClock.monotonicMs() > endMs) {
        throw new WeirError(
          'UNAVAILABLE',
          `version ${version} does not answer ${SWITCH_TIMEOUT_MS / 1000} s after it was made live; look at it with "weir model show ${version}" and start again`,
        )
      }
      await this.pause(ANSWER_POLL_MS)
    }
  }
}

const NO_FIGURES = {
  learnRmseBefore: null,
  learnRmseAfter: null,
  frozenRmse: null,
  driftDetectedAfter: null,
  driftRmse: null,
  driftFrozenRmse: null,
  retrainSeconds: null,
  trainedOn: null,
  replayed: null,
  candidateRmse: null,
  candidateLiveRmse: null,
  promotedVersion: null,
  promotedRmse: null,
  rolledBackTo: null,
  rollbackMs: null,
  requests: 0,
  failedRequests: 0,
}
