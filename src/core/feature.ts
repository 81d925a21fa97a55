/**
 * Ids of features of sparse examples: whole numbers from 0 to `MAX_FEATURE`. The number above is the
 * constant feature, whose weight is the model's intercept, so that an intercept lies, travels and
 * learns as any other weight. It never counts as unknown.
 */
export const MAX_FEATURE = 2 ** 32 - 2

/** The constant feature; its value in an example is what the model was trained with, mostly 1. */
export const BIAS_FEATURE = 2 ** 32 - 1
