import { openTopics } from '../../connectors/topics/open.ts'
import type { TopicsPlace } from '../../connectors/topics/place.ts'
import { TOPICS_PLACE } from '../../connectors/topics/place.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import { ByteReader } from '../../core/byte-reader.ts'
import type { Clock } from '../../core/clock.ts'
import { isWeirError } from '../../core/errors.ts'
import { FEATURE_HASHING } from '../../core/features/hashing.ts'
import { msgpackSerializer } from '../../core/formats/msgpack-serializer.ts'
import { aFunction, name, numberIn, objectWith, oneOf, required } from '../../core/options/kinds.ts'
import { CLOCK } from '../../core/options/ports.ts'
import { checkOptions, nested, type OptionShape } from '../../core/options/shape.ts'
import { readExamples } from '../../models/observations/examples.ts'
import {
  rangesAfter,
  rangesOfTopic,
  readObservations,
} from '../../models/observations/topic-ranges.ts'
import {
  type AlarmsByDetector,
  DriftMonitor,
  NO_ALARMS,
} from '../../models/quality/drift-monitor.ts'
import { PrequentialError } from '../../models/quality/prequential-error.ts'
import type { RatingRange } from '../../models/ratings/rating.ts'
import type { DataRange } from '../../models/registry/ranges/data-range.ts'
import type { ExampleError } from '../learning/error/example-error.ts'
import { LEARNING_ERROR_STATE } from '../learning/error/learning-error.ts'
import type { RatingError } from '../learning/error/rating-error.ts'
import {
  labelErrors,
  type PredictionError,
  ratingErrors,
  type ServedErrorOptions,
} from './served-errors.ts'

/** Error of the live version, for the triggers. */
export interface WatchedError {
  readonly fadedMse: number
  /** Over its first 1,000 ratings; NaN before they are known. */
  readonly startMse: number
  readonly count: number
  readonly alarms: AlarmsByDetector
}

/** Where the error of a version comes from. */
export type ErrorSource =
  /** The job that learns reports it. `count`: predictions so far. */
  | { readonly kind: 'reported'; readonly version: number; readonly count: number }
  /** The job learns, and has not reported the error of this version. */
  | { readonly kind: 'awaited'; readonly version: number }
  /** No job reports it: each new observation is predicted by query. */
  | { readonly kind: 'predicted'; readonly version: number }

/** Records that are no observations. */
export interface UnreadableRecords {
  readonly count: number
  /** Of the first one. */
  readonly partition: number
  readonly offset: number
  readonly reason: string
}

/** Options of a `LiveErrorWatch`. */
export interface LiveErrorOptions extends ServedErrorOptions {
  readonly place: TopicsPlace
  readonly observations: string
  readonly clock: Clock
  /** Called when the error of a version comes from another source than at the look before. */
  readonly onSource?: (source: ErrorSource) => void
  /** Called when new records of the observations are left out of the error because they are none. */
  readonly onUnreadable?: (records: UnreadableRecords) => void
}

const LIVE_ERROR: OptionShape<LiveErrorOptions> = {
  reader: required(objectWith("a reader of a job's state, such as a client", 'predict')),
  place: required(nested(TOPICS_PLACE)),
  observations: required(name),
  state: required(name),
  clock: required(CLOCK),
  range: nested<RatingRange>({ min: required(numberIn()), max: required(numberIn()) }),
  feedback: oneOf('explicit', 'implicit'),
  positiveLabel: numberIn(),
  hashing: nested(FEATURE_HASHING),
  onSource: aFunction(),
  onUnreadable: aFunction(),
}

/**
 * Watches the prequential error of the live version. A learning job reports it. For a job that does
 * not learn, every new observation is predicted by query. Detectors get every squared error: in the slots
 * of a learning job, or here.
 */
export class LiveErrorWatch {
  private readonly options: LiveErrorOptions
  private version = -1
  private drift = new DriftMonitor()
  private error = new PrequentialError()
  private seen: readonly DataRange[] | undefined
  /** Kind and version of the source at the last look. */
  private source = ''

  constructor(options: LiveErrorOptions) {
    checkOptions('new LiveErrorWatch', LIVE_ERROR, options)
    this.options = options
  }

  /** The error of `version`, with the ratings since the last call; undefined before its first rating. */
  async look(version: number): Promise<WatchedError | undefined> {
    if (version !== this.version) this.begin(version)
    const answer = await this.askLearner(version)
    this.noteSource(
      answer === 'awaited' || answer === 'predicted'
        ? { kind: answer, version }
        : { kind: 'reported', version, count: answer.count },
    )
    if (answer === 'predicted') return await this.predictNew(version)
    // What a job learns before it stops must not be predicted afterwards.
    this.seen = undefined
    return answer === 'awaited' ? undefined : answer
  }

  private noteSource(source: ErrorSource): void {
    const name = `${source.kind}/${source.version}`
    if (name === this.source) return
    this.source = name
    this.options.onSource?.(source)
  }

  private begin(version: number): void {
    this.version = version
    this.drift = new DriftMonitor()
    this.error = new PrequentialError()
  }

  private async askLearner(version: number): Promise<WatchedError | 'awaited' | 'predicted'> {
    try {
      const [answer] = await this.options.reader.values(LEARNING_ERROR_STATE, [String(version)])
      if (answer?.ok === true) {
        const serializer = msgpackSerializer<RatingError | ExampleError>()
        return ofLearner(serializer.read(new ByteReader(answer.value)))
      }
      return answer?.error.code === 'UNKNOWN_STATE' ? 'predicted' : 'awaited'
    } catch (error) {
      if (isWeirError(error, 'UNKNOWN_STATE')) return 'predicted'
      throw error
    }
  }

  private async predictNew(version: number): Promise<WatchedError | undefined> {
    const { place, observations } = this.options
    await using topics = await openTopics(place)
    const seen = this.seen ?? (await rangesOfTopic(topics, observations))
    const fresh = await rangesAfter(topics, observations, seen)
    this.seen = [...seen.filter(({ partition }) => !covers(fresh, partition)), ...fresh]
    const unreadable = new UnreadableCount()
    for await (const { error, isKnown } of this.errorsOf(topics, { fresh, version, unreadable })) {
      this.error.add(error, isKnown)
      // No job learns the version: it is the frozen one.
      this.drift.addFrozen(error * error, this.options.clock)
    }
    if (unreadable.records !== undefined) this.options.onUnreadable?.(unreadable.records)
    if (this.error.count === 0) return undefined
    const { fadedMse, startMse, count } = this.error
    return { fadedMse, startMse, count, alarms: this.drift.alarms }
  }

  private errorsOf(topics: TopicStore, news: NewObservations): AsyncGenerator<PredictionError> {
    const { positiveLabel, hashing } = this.options
    const { fresh, version, unreadable } = news
    return positiveLabel === undefined
      ? ratingErrors(this.options, readObservations(topics, fresh, unreadable.add), version)
      : labelErrors(this.options, readExamples(topics, fresh, unreadable.add, hashing), version)
  }
}

/** Observations that came since the last look. */
interface NewObservations {
  readonly fresh: readonly DataRange[]
  readonly version: number
  readonly unreadable: UnreadableCount
}

/** Counts records that are no observations. */
class UnreadableCount {
  records: UnreadableRecords | undefined

  readonly add = (partition: number, offset: number, reason: string): void => {
    const count = (this.records?.count ?? 0) + 1
    this.records = { ...(this.records ?? { partition, offset, reason }), count }
  }
}

/** What a job that learns reports; of a linear model, wrong labels are the error. */
function ofLearner(reported: RatingError | ExampleError): WatchedError {
  if ('examples' in reported) {
    const { fadedAccuracy, startAccuracy, examples: count, alarms } = reported
    return { fadedMse: 1 - fadedAccuracy, startMse: 1 - startAccuracy, count, alarms }
  }
  const { fadedMse, ratings: count } = reported
  // A job of an earlier build does not report these.
  const { startMse = Number.NaN, alarms = NO_ALARMS } = reported
  return { fadedMse, startMse, count, alarms }
}

function covers(ranges: readonly DataRange[], partition: number): boolean {
  return ranges.some((range) => range.partition === partition)
}
