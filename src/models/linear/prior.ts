/**
 * What the training examples say of each weight, [features + 1]; the last is the weight of the constant feature.
 * Online learning goes on from it as if it had learned these examples.
 */
export interface LinearPrior {
  /** Sums of squared gradients of the examples, at the trained weights, each counted 16 times (`linearPrior`). */
  readonly squares: Float64Array
  /** Largest absolute values of the features. */
  readonly scales: Float64Array
}
