import { openTopics } from '../../connectors/topics/open.ts'
import type { TopicsPlace } from '../../connectors/topics/place.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import { ByteReader } from '../../core/byte-reader.ts'
import type { Clock } from '../../core/clock.ts'
import { isWeirError } from '../../core/errors.ts'
import { msgpackSerializer } from '../../core/formats/msgpack-serializer.ts'
import { type Feedback, targetOf } from '../../models/als/feedback.ts'
import {
  type AlarmsByDetector,
  DriftMonitor,
  largestSquaredError,
  NO_ALARMS,
} from '../../models/quality/drift-monitor.ts'
import { PrequentialError } from '../../models/quality/prequential-error.ts'
import type { RatingRange } from '../../models/ratings/rating.ts'
import type { DataRange } from '../../models/registry/version.ts'
import type { ModelReader } from '../../wire/model-reader.ts'
import { withBiasFeature } from '../../wire/sparse-vector.ts'
import { predictServed } from '../evaluate/served.ts'
import { LEARNING_ERROR_STATE, type LearningError } from '../learning/als/error-function.ts'
import { type ObservedExample, readExamples } from './examples.ts'
import { rangesAfter, rangesOfTopic, readObservations } from './observations.ts'

/** Error of the live version, for the triggers. */
export interface WatchedError {
  readonly fadedMse: number
  /** Over its first 1,000 ratings; NaN before they are known. */
  readonly startMse: number
  readonly count: number
  readonly alarms: AlarmsByDetector
}

/** Options of a `LiveErrorWatch`. */
export interface LiveErrorOptions {
  readonly reader: ModelReader
  readonly place: TopicsPlace
  readonly observations: string
  readonly state: string
  readonly clock: Clock
  /** Range to clip predictions of ratings to. @default no clipping */
  readonly range?: RatingRange
  /** What the ratings mean; the error of implicit feedback is that of the preference. @default 'explicit' */
  readonly feedback?: Feedback
  /** For a linear model: its positive label. Its error is 1 for a wrong label, else 0. @default an ALS model */
  readonly positiveLabel?: number
}

/** Error of one prediction. */
interface PredictionError {
  readonly error: number
  readonly isKnown: boolean
}

/**
 * Watches the prequential error of the live version. A learning job reports it. For a job that does
 * not learn, every new observation is predicted by query. Detectors get every squared error: in the slots
 * of a learning job, or here.
 */
export class LiveErrorWatch {
  private readonly options: LiveErrorOptions
  private version = -1
  private drift: DriftMonitor
  private error = new PrequentialError()
  private seen: readonly DataRange[] | undefined
  /** Whether the job reports its error; undefined until it is known. */
  private isReported: boolean | undefined

  constructor(options: LiveErrorOptions) {
    this.options = options
    this.drift = this.newMonitor()
  }

  /** The error of `version`, with the ratings since the last call; undefined before its first rating. */
  async look(version: number): Promise<WatchedError | undefined> {
    if (version !== this.version) this.begin(version)
    const reported = this.isReported === false ? undefined : await this.askLearner(version)
    if (reported !== undefined) return ofLearner(reported)
    if (this.isReported === true) return undefined
    return await this.predictNew(version)
  }

  private begin(version: number): void {
    this.version = version
    this.drift = this.newMonitor()
    this.error = new PrequentialError()
  }

  private newMonitor(): DriftMonitor {
    const { range = { min: Number.NaN, max: Number.NaN }, positiveLabel } = this.options
    return new DriftMonitor(positiveLabel === undefined ? largestSquaredError(range) : 1)
  }

  private async askLearner(version: number): Promise<LearningError | undefined> {
    try {
      const [answer] = await this.options.reader.values(LEARNING_ERROR_STATE, [String(version)])
      if (answer?.ok === true) {
        this.isReported = true
        return msgpackSerializer<LearningError>().read(new ByteReader(answer.value))
      }
      if (answer !== undefined) this.isReported = answer.error.code !== 'UNKNOWN_STATE'
    } catch (error) {
      if (!isWeirError(error, 'UNKNOWN_STATE')) throw error
      this.isReported = false
    }
    return undefined
  }

  private async predictNew(version: number): Promise<WatchedError | undefined> {
    const { place, observations } = this.options
    await using topics = await openTopics(place)
    const seen = this.seen ?? (await rangesOfTopic(topics, observations))
    const fresh = await rangesAfter(topics, observations, seen)
    this.seen = [...seen.filter(({ partition }) => !covers(fresh, partition)), ...fresh]
    for await (const { error, isKnown } of this.errorsOf(topics, fresh, version)) {
      this.error.add(error, isKnown)
      this.drift.add(error * error, this.options.clock)
    }
    if (this.error.count === 0) return undefined
    const { fadedMse, startMse, count } = this.error
    return { fadedMse, startMse, count, alarms: this.drift.alarms }
  }

  private errorsOf(
    topics: TopicStore,
    fresh: readonly DataRange[],
    version: number,
  ): AsyncGenerator<PredictionError> {
    const { positiveLabel } = this.options
    return positiveLabel === undefined
      ? this.ratingErrors(topics, fresh, version)
      : this.labelErrors(readExamples(topics, fresh), version, positiveLabel)
  }

  private async *ratingErrors(
    topics: TopicStore,
    fresh: readonly DataRange[],
    version: number,
  ): AsyncGenerator<PredictionError> {
    const { reader, state, range } = this.options
    const pieces = predictServed(reader, readObservations(topics, fresh), {
      state,
      query: { version },
      ...(range === undefined ? {} : { range }),
    })
    for await (const piece of pieces) {
      for (const { rating, score, coverage } of piece) {
        const error = targetOf(this.options.feedback ?? 'explicit', rating.rating) - score
        yield { error, isKnown: coverage === 'known' }
      }
    }
  }

  private async *labelErrors(
    examples: AsyncIterable<readonly ObservedExample[]>,
    version: number,
    positiveLabel: number,
  ): AsyncGenerator<PredictionError> {
    const { reader, state } = this.options
    for await (const piece of examples) {
      const asked = piece.map((each) => reader.sparseDot(state, withBiasFeature(each), { version }))
      for (const [i, answer] of (await Promise.all(asked)).entries()) {
        if (!answer.ok) throw answer.error
        const isPositive = (piece[i] as ObservedExample).label === positiveLabel
        yield { error: answer.value.sum > 0 === isPositive ? 0 : 1, isKnown: true }
      }
    }
  }
}

function ofLearner(reported: LearningError): WatchedError {
  const { fadedMse, ratings: count } = reported
  // A job of an earlier build does not report these.
  const { startMse = Number.NaN, alarms = NO_ALARMS } = reported
  return { fadedMse, startMse, count, alarms }
}

function covers(ranges: readonly DataRange[], partition: number): boolean {
  return ranges.some((range) => range.partition === partition)
}
