import { openTopics } from '../../connectors/topics/open.ts'
import type { TopicsPlace } from '../../connectors/topics/place.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import type { Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { readExamples } from '../../models/observations/examples.ts'
import {
  type HistoryFiles,
  historyExamples,
  historyRatings,
} from '../../models/observations/history.ts'
import { rangesOfTopic, readObservations } from '../../models/observations/topic-ranges.ts'
import { NO_ALARMS } from '../../models/quality/drift-monitor.ts'
import { RunningMean } from '../../models/quality/intervals.ts'
import { MIN_ERRORS } from '../../models/registry/retrain-trigger.ts'
import type { WatchedError } from './error-watch.ts'
import {
  labelErrors,
  type PredictionError,
  ratingErrors,
  type ServedErrorOptions,
} from './served-errors.ts'

/** A test set: files, or all of a topic. */
export type TestSet = { readonly files: HistoryFiles } | { readonly topic: string }

/** Options of a `TestErrorWatch`. */
export interface TestErrorOptions extends ServedErrorOptions {
  readonly place: TopicsPlace
  readonly test: TestSet
  /** Time from one measurement of a version to the next, ms. */
  readonly everyMs: number
  readonly clock: Clock
  /** Called after each measurement. */
  readonly onMeasured?: (version: number, measured: WatchedError) => void
}

/**
 * Measures the mean squared error of the live version on a test set, again and again: the trigger of the thesis's loop. Each
 * measurement is reported at one look only, so that one error leads to one training.
 */
export class TestErrorWatch {
  private readonly options: TestErrorOptions
  private version = -1
  private measuredMs = Number.NEGATIVE_INFINITY

  constructor(options: TestErrorOptions) {
    this.options = options
  }

  /**
   * The error of `version`, if it is time to measure it; undefined else. A version is measured at its first look. Throws
   * EMPTY_DATASET for a test set of fewer than 100 observations, which no trigger would heed.
   */
  async look(version: number): Promise<WatchedError | undefined> {
    const { clock, everyMs, onMeasured } = this.options
    const nowMs = clock.monotonicMs()
    if (version === this.version && nowMs - this.measuredMs < everyMs) return undefined
    const squares = await this.squares(version)
    // Only now, so that a measurement that failed is tried at the next look.
    this.version = version
    this.measuredMs = nowMs
    requireEnough(squares.size)
    const measured = {
      fadedMse: squares.value,
      // The error at go-live that the registry keeps is that of live predictions.
      startMse: Number.NaN,
      count: squares.size,
      alarms: NO_ALARMS,
    }
    onMeasured?.(version, measured)
    return measured
  }

  private async squares(version: number): Promise<RunningMean> {
    await using topics = await openTopics(this.options.place)
    const squares = new RunningMean()
    for await (const { error } of await this.errors(topics, version)) squares.add(error * error)
    return squares
  }

  private async errors(
    topics: TopicStore,
    version: number,
  ): Promise<AsyncGenerator<PredictionError>> {
    const { options } = this
    const { test, positiveLabel, hashing } = options
    const ranges = 'topic' in test ? await rangesOfTopic(topics, test.topic) : []
    if (positiveLabel === undefined) {
      const ratings =
        'topic' in test ? readObservations(topics, ranges) : historyRatings(test.files)
      return ratingErrors(options, ratings, version)
    }
    const examples =
      'topic' in test
        ? readExamples(topics, ranges, undefined, hashing)
        : historyExamples(test.files, undefined, hashing)
    return labelErrors(options, examples, version)
  }
}

function requireEnough(size: number): void {
  if (size >= MIN_ERRORS) return
  throw new WeirError(
    'EMPTY_DATASET',
    `the test set of --evaluate has ${size} observations, and errors of fewer than ${MIN_ERRORS} say nothing; name a larger one`,
  )
}
