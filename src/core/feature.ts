/**
 * Ids of features of sparse examples: whole numbers from 0 to `MAX_FEATURE`. The number above is the
 * constant feature, whose weight is the model's intercept, so that an intercept is
 * stored, sent and learned like any other weight. It never counts as unknown.
 */
export const MAX_FEATURE = 2 ** 32 - 2

/** The constant feature; its value in an example is what the model was trained with, mostly 1. */
export const BIAS_FEATURE = 2 ** 32 - 1

/**
 * Whether a model has no weight for a feature. A weight of 0 is no weight: blocks of weights are dense,
 * and hold 0 where nothing was learned. The constant feature always has one.
 */
export function isWeightless(id: number, weight: number): boolean {
  return weight === 0 && id !== BIAS_FEATURE
}
