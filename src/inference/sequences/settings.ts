/** A tensor that a model carries from one request of a sequence to the next. */
export interface CarriedTensor {
  /** Input that takes it. */
  readonly input: string
  /** Output that it is after the request. */
  readonly output: string
  /** Its sizes at the start, where it is all zeros. @default those of the input, with 1 for each free one */
  readonly shape?: readonly number[]
}

/** What a model carries from one request of a sequence to the next. */
export interface SequenceSettings {
  readonly carried: readonly CarriedTensor[]
  /** Time without a request after which a sequence is forgotten, ms. */
  readonly ttlMs: number
  /** Most sequences at a time. */
  readonly most: number
}
