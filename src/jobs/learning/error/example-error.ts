import { type AlarmsByDetector, joinedAlarms } from '../../../models/quality/drift-monitor.ts'
import { OutputTag } from '../../../operators/port/output-tag.ts'
import { type JoinedError, type SlotPart, weighedMean } from './learning-error.ts'

/** Prequential error of one version of a linear model: of predictions that were made before their example was learned. */
export interface ExampleErrorFigures {
  readonly version: number
  /** Examples that were predicted and then learned. */
  readonly examples: number
  /** Mean loss that is learned (hinge or logistic): over all examples, over the newest ones, and weighed by age. */
  readonly loss: number
  readonly windowLoss: number
  readonly fadedLoss: number
  /** Of the version without learning, on a sample of the examples, weighed by age; NaN if unknown. */
  readonly frozenLoss: number
  /** Share of labels that were predicted, likewise. */
  readonly accuracy: number
  readonly windowAccuracy: number
  readonly fadedAccuracy: number
  /** Over the first 1,000 examples of each slot that learned the version from its start; NaN before one has so many. */
  readonly startAccuracy: number
  /** Area under the ROC curve of the newest examples of each slot, exactly; NaN while they have one label. */
  readonly auc: number
  /** Alarms of the drift detectors, on wrong labels. */
  readonly alarms: AlarmsByDetector
  /** Whether learning is stopped, so that the version is served as it was published; undefined in those of an earlier build. */
  readonly isStopped?: boolean
}

/** One slot's part of the error of the live model's predictions of labels. */
export interface ExampleErrorPart extends ExampleErrorFigures, SlotPart {
  /** Examples of the sample for `frozenLoss`. */
  readonly frozenExamples: number
  /** Examples of `startAccuracy`. */
  readonly startExamples: number
  /** Pairs of a positive and a negative example of `auc`. */
  readonly pairs: number
}

/** Prequential error of one version of a linear model over all slots. */
export interface ExampleError extends ExampleErrorFigures, JoinedError<ExampleErrorPart> {}

/** Side output of the errors of slots. */
export const EXAMPLE_ERROR = new OutputTag<ExampleErrorPart>('example-error')

/** The error over several slots, each weighed by its examples. */
export function joinedExampleError(slots: readonly ExampleErrorPart[]): ExampleError {
  const ofExamples = (value: (part: ExampleErrorPart) => number): number =>
    weighedMean(slots, value, (part) => part.examples)
  return {
    version: slots[0]!.version,
    examples: slots.reduce((sum, part) => sum + part.examples, 0),
    loss: ofExamples((part) => part.loss),
    windowLoss: ofExamples((part) => part.windowLoss),
    fadedLoss: ofExamples((part) => part.fadedLoss),
    frozenLoss: weighedMean(
      slots,
      (part) => part.frozenLoss,
      (part) => part.frozenExamples,
    ),
    accuracy: ofExamples((part) => part.accuracy),
    windowAccuracy: ofExamples((part) => part.windowAccuracy),
    fadedAccuracy: ofExamples((part) => part.fadedAccuracy),
    startAccuracy: weighedMean(
      slots,
      (part) => part.startAccuracy,
      (part) => part.startExamples,
    ),
    auc: weighedMean(
      slots,
      (part) => part.auc,
      (part) => part.pairs,
    ),
    alarms: joinedAlarms(slots.map((part) => part.alarms)),
    isStopped: slots.some((part) => part.isStopped === true),
    slots,
  }
}
