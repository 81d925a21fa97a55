import {
  type AlarmsByDetector,
  joinedAlarms,
  NO_ALARMS,
} from '../../../models/quality/drift-monitor.ts'
import { type JoinedError, type SlotPart, weighedMean } from './learning-error.ts'

/** Prequential error of one version: of predictions that were made before their rating was learned. */
export interface RatingErrorFigures {
  readonly version: number
  /** Ratings that were predicted and then learned. */
  readonly ratings: number
  /** Mean squared error: over all ratings, over the newest ones, and weighed by age. */
  readonly mse: number
  readonly windowMse: number
  readonly fadedMse: number
  /** Share of ratings whose user and item both had a row. */
  readonly coverage: number
  /** Over the first 1,000 ratings of each slot that learned the version from its start; NaN before one has so many. */
  readonly startMse: number
  /** Of the version without learning, on a sample of the ratings, weighed by age; NaN if unknown. */
  readonly frozenMse: number
  /** Alarms of the drift detectors, on both errors. */
  readonly alarms: AlarmsByDetector
  /** Whether learning is stopped, so that the version is served as it was published; undefined in those of an earlier build. */
  readonly isStopped?: boolean
}

/** One slot's part of the error of the live model's predictions of ratings. */
export interface RatingErrorPart extends RatingErrorFigures, SlotPart {
  /** Ratings of the sample for `frozenMse`. */
  readonly frozenRatings: number
  /** Ratings of `startMse`; undefined in parts of an earlier build. */
  readonly startRatings?: number
}

/** Prequential error of one version over all slots. */
export interface RatingError extends RatingErrorFigures, JoinedError<RatingErrorPart> {}

/** The error over several slots, each weighed by its ratings. */
export function joinedRatingError(slots: readonly RatingErrorPart[]): RatingError {
  const ofRatings = (value: (part: RatingErrorPart) => number): number =>
    weighedMean(slots, value, (part) => part.ratings)
  return {
    version: slots[0]!.version,
    ratings: slots.reduce((sum, part) => sum + part.ratings, 0),
    mse: ofRatings((part) => part.mse),
    windowMse: ofRatings((part) => part.windowMse),
    fadedMse: ofRatings((part) => part.fadedMse),
    coverage: ofRatings((part) => part.coverage),
    startMse: weighedMean(
      slots,
      (part) => part.startMse,
      (part) => part.startRatings ?? part.ratings,
    ),
    frozenMse: weighedMean(
      slots,
      (part) => part.frozenMse,
      (part) => part.frozenRatings,
    ),
    alarms: joinedAlarms(slots.map((part) => part.alarms ?? NO_ALARMS)),
    isStopped: slots.some((part) => part.isStopped === true),
    slots,
  }
}
