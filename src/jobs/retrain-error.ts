import { openTopics, type TopicsPlace } from '../connectors/topics/open-topics.ts'
import { ByteReader } from '../core/byte-reader.ts'
import { isWeirError } from '../core/errors.ts'
import { msgpackSerializer } from '../core/serializer.ts'
import type { DriftDetector } from '../models/drift-detector.ts'
import { PrequentialError } from '../models/prequential-error.ts'
import type { RatingRange } from '../models/rating.ts'
import type { DataRange } from '../models/registry-version.ts'
import type { ModelReader } from '../wire/model-reader.ts'
import { predictServed } from './evaluate-served.ts'
import { LEARNING_ERROR_STATE, type LearningError } from './online-error-function.ts'
import { rangesAfter, rangesOfTopic, readObservations } from './retrain-observations.ts'

/** Ratings whose mean error is enough for a first look at a version. */
const FIRST_LOOK = 100

/** The error of the live version as the triggers see it. */
export interface WatchedError {
  readonly fadedMse: number
  readonly atStart: number
  readonly count: number
  readonly driftAlarms: number
}

/** Options of a `LiveErrorWatch`. */
export interface LiveErrorOptions {
  readonly reader: ModelReader
  readonly place: TopicsPlace
  readonly observations: string
  readonly state: string
  /** Makes the detector that watches a version's errors. */
  readonly detector: () => DriftDetector
  /** Predictions are clipped into it. */
  readonly range?: RatingRange
}

/**
 * Watches the prequential error of the live version: a job that learns tells it; of one that does not,
 * every new observation is predicted by query. The detector gets the error of each look's ratings.
 */
export class LiveErrorWatch {
  private readonly options: LiveErrorOptions
  private version = -1
  private detector: DriftDetector
  private error = new PrequentialError()
  private atStart = Number.NaN
  private told: Pick<LearningError, 'ratings' | 'mse'> | undefined
  private seen: readonly DataRange[] | undefined
  private isTold: boolean | undefined

  constructor(options: LiveErrorOptions) {
    this.options = options
    this.detector = options.detector()
  }

  /** Looks at what is new and gives the error of `version`; undefined before its first rating. */
  async look(version: number): Promise<WatchedError | undefined> {
    if (version !== this.version) this.begin(version)
    const told = this.isTold === false ? undefined : await this.askLearner(version)
    if (told !== undefined) return this.taken(told)
    if (this.isTold === true) return undefined
    return await this.predictNew(version)
  }

  private begin(version: number): void {
    this.version = version
    this.detector = this.options.detector()
    this.error = new PrequentialError()
    this.atStart = Number.NaN
    this.told = undefined
  }

  private async askLearner(version: number): Promise<LearningError | undefined> {
    try {
      const [answer] = await this.options.reader.values(LEARNING_ERROR_STATE, [String(version)])
      if (answer?.ok === true) {
        this.isTold = true
        return msgpackSerializer<LearningError>().read(new ByteReader(answer.value))
      }
      if (answer !== undefined) this.isTold = answer.error.code !== 'UNKNOWN_STATE'
    } catch (error) {
      if (!isWeirError(error, 'UNKNOWN_STATE')) throw error
      this.isTold = false
    }
    return undefined
  }

  /** The ratings since the last look are known by their sums alone. */
  private taken(told: LearningError): WatchedError {
    const before = this.told ?? { ratings: 0, mse: 0 }
    const ratings = told.ratings - before.ratings
    if (ratings > 0) {
      const sum = told.mse * told.ratings - before.mse * before.ratings
      this.detector.add(Math.max(0, sum / ratings))
    }
    this.told = told
    return this.watched(told.fadedMse, told.ratings)
  }

  private async predictNew(version: number): Promise<WatchedError | undefined> {
    const { reader, place, observations, state, range } = this.options
    await using topics = await openTopics(place)
    const seen = this.seen ?? (await rangesOfTopic(topics, observations))
    const fresh = await rangesAfter(topics, observations, seen)
    this.seen = [...seen.filter(({ partition }) => !covers(fresh, partition)), ...fresh]
    const pieces = predictServed(reader, readObservations(topics, fresh), {
      state,
      query: { version },
      ...(range === undefined ? {} : { range }),
    })
    for await (const piece of pieces) {
      for (const { rating, score, coverage } of piece) {
        const error = rating.rating - score
        this.error.add(error, coverage === 'known')
        this.detector.add(error * error)
      }
    }
    if (this.error.count === 0) return undefined
    return this.watched(this.error.fadedMse, this.error.count)
  }

  private watched(fadedMse: number, count: number): WatchedError {
    if (Number.isNaN(this.atStart) && count >= FIRST_LOOK) this.atStart = fadedMse
    return { fadedMse, atStart: this.atStart, count, driftAlarms: this.detector.alarms }
  }
}

function covers(ranges: readonly DataRange[], partition: number): boolean {
  return ranges.some((range) => range.partition === partition)
}
