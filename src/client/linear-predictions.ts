import {
  classPrediction,
  type LinearPrediction,
  type LinearPredictOptions,
  linearPrediction,
  NamedFeatures,
  type ServedClasses,
  servedClasses,
  servedHashing,
} from '../wire/linear-prediction.ts'
import type { Answer, QueryOptions, SparseProduct, SparseVector } from '../wire/model-reader.ts'
import type { ConnectionPool } from './connection-pool.ts'

/** Asks for a product of features; of the constant feature too, if `isDecision`. */
type AskProduct = (
  state: string,
  features: SparseVector,
  options: QueryOptions,
  isDecision: boolean,
) => Promise<Answer<SparseProduct>>

/** Predictions of linear models, of which the routing table says labels, classes, and how names are hashed. */
export class LinearPredictions {
  private readonly pool: Pick<ConnectionPool, 'routing' | 'isStale' | 'refresh'>
  private readonly product: AskProduct
  private readonly named = new NamedFeatures()

  constructor(pool: Pick<ConnectionPool, 'routing' | 'isStale' | 'refresh'>, product: AskProduct) {
    this.pool = pool
    this.product = product
  }

  /** The prediction of an example. Rejects with the answer's error, INVALID_ARGUMENT, NOT_FINITE. */
  async predict(
    state: string,
    features: SparseVector | string,
    options: LinearPredictOptions,
  ): Promise<LinearPrediction> {
    const vector = typeof features === 'string' ? await this.hashed(state, features) : features
    const classes = servedClasses(this.pool.routing, state, options.version)
    if (classes !== undefined) return await this.classified(state, vector, classes, options)
    const answer = await this.product(state, vector, options, true)
    if (!answer.ok) throw answer.error
    const { sum, unknown } = answer.value
    const { modelVersion } = answer.envelope
    const found = await linearPrediction(this.pool, { state, sum, unknown, modelVersion }, options)
    // The routing table may have been older than the version that answered.
    const late = servedClasses(this.pool.routing, state, modelVersion)
    return late === undefined ? found : await this.classified(state, vector, late, options)
  }

  /** The prediction of several classes; once more where another version has gone live meanwhile. */
  private async classified(
    state: string,
    features: SparseVector,
    classes: ServedClasses,
    options: LinearPredictOptions,
  ): Promise<LinearPrediction> {
    const found = await classPrediction(
      (vector, pinned) => this.product(state, vector, pinned, false),
      features,
      classes,
      options,
    )
    if (options.version !== undefined || !this.pool.isStale) return found
    await this.pool.refresh()
    const live = servedClasses(this.pool.routing, state)
    return live?.version === classes.version ? found : await this.predict(state, features, options)
  }

  /** The features of a text; a routing table from before the first version does not say how they are hashed. */
  private async hashed(state: string, text: string): Promise<SparseVector> {
    if (servedHashing(this.pool.routing, state) === undefined) await this.pool.refresh()
    return this.named.of(text, this.pool.routing, state)
  }
}
