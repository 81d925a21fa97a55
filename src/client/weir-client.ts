import { requireArgument, WeirError } from '../core/errors.ts'
import { keyText } from '../core/formats/key-text.ts'
import type { PlainKey } from '../core/formats/plain-key.ts'
import { checkArgument, checkOptions } from '../core/options/shape.ts'
import {
  checkCall,
  checkInferRaw,
  checkKeys,
  checkLinear,
  checkRowKeys,
  type KeyRange,
  MODEL_ACTION,
  NO_OPTIONS,
  predictionRefusal,
  productRefusal,
  RANGE,
  TOP_K_QUERY,
  textsOf,
} from '../wire/call-arguments.ts'
import { DeadlineWheel } from '../wire/deadline-wheel.ts'
import type { EncodedPairs, PairPredictions } from '../wire/encoded-pairs.ts'
import { MAX_COUNT } from '../wire/frame.ts'
import type { InferRequest, RawInferResult } from '../wire/inference/infer.ts'
import type { ModelInfo } from '../wire/inference/models.ts'
import {
  INFER,
  INPUT_TENSORS,
  type InferOptions,
  type InferResult,
  type InputTensor,
  outputTensorOf,
  rawTensorOf,
} from '../wire/inference/typed-tensor.ts'
import type { LinearPrediction, LinearPredictOptions } from '../wire/linear-prediction.ts'
import {
  type Answer,
  type ModelReader,
  PREDICT,
  type Prediction,
  type PredictOptions,
  QUERY,
  type QueryOptions,
  type ScanEntry,
  type ScoredKey,
  type SparseProduct,
  type SparseVector,
  TOP_K,
  type TopKOptions,
} from '../wire/model-reader.ts'
import type { RoutingTable } from '../wire/routing-table.ts'
import type { GetOptions } from '../wire/typed-value.ts'
import { WriterPool } from '../wire/writer-pool.ts'
import { ConnectionPool } from './connection-pool.ts'
import { GeneralRequests } from './general-requests.ts'
import { LinearPredictions } from './linear-predictions.ts'
import { type ClientOptions, type ResolvedClientOptions, resolveClientOptions } from './options.ts'
import { Predictions } from './predictions.ts'
import { sparseProduct, topKRequest } from './request-bodies.ts'
import { Retries, whileJobStarts } from './retries.ts'
import { mayBeCached, RowCache } from './row-cache.ts'
import { type RetrySparse, SparseDots } from './sparse-dots.ts'
import { type EntriesOptions, type StateEntry, StateReads } from './state/typed-reads.ts'

// Above 300 lines, because it is the whole public interface of the client: one short method for each kind of request.

/**
 * Queries a running job over TCP. Connect once and share the client: concurrent calls share frames.
 *
 * ```ts
 * await using client = await WeirClient.connect({ port: 9069, job: 'als' })
 * const { score } = await client.predict('ALS_MODEL', '42-U', '7-I')
 * ```
 */
export class WeirClient implements ModelReader {
  private readonly options: ResolvedClientOptions
  private readonly wheel: DeadlineWheel
  private readonly writers: WriterPool
  private readonly pool: ConnectionPool
  private readonly predictions: Predictions
  private readonly sparseDots: SparseDots
  private readonly linear: LinearPredictions
  private readonly cache: RowCache | undefined
  private readonly retries: Retries
  private readonly requests: GeneralRequests
  private readonly reads: StateReads
  private isClosed = false

  private constructor(options: ResolvedClientOptions) {
    this.options = options
    this.wheel = new DeadlineWheel(options.clock)
    this.writers = new WriterPool()
    this.pool = new ConnectionPool(options, { wheel: this.wheel, writers: this.writers })
    this.retries = new Retries(options)
    this.requests = new GeneralRequests({
      options,
      pool: this.pool,
      writers: this.writers,
      retries: this.retries,
      refusalOf: (calls) => this.refusalOf(calls),
    })
    this.predictions = new Predictions(options, this.pool, this.retries)
    this.sparseDots = new SparseDots(options, this.pool, this.retrySparse)
    this.linear = new LinearPredictions(this.pool, (...asked) => this.product(...asked))
    this.cache = options.cache && new RowCache(options.cache, options.clock)
    this.reads = new StateReads({
      states: () => this.routing.states,
      refresh: () => this.refreshRouting(),
      rows: (...asked) => this.readRows(...asked),
      values: (...asked) => this.requests.values(...asked),
      page: (...asked) => this.requests.page(...asked),
    })
  }

  /**
   * Fetches the routing table from the bootstrap port and connects to every query thread. Takes at most `deadlineMs`:
   * so long it waits for a port that does not answer, and for a job that has no query threads yet. Where the port
   * refuses the connection it fails at once, without `waitForJob`. Rejects with UNAVAILABLE, which has the host and the
   * port in its details, UNAUTHENTICATED, UNSUPPORTED_VERSION.
   */
  static async connect(options: ClientOptions = {}): Promise<WeirClient> {
    const resolved = resolveClientOptions(options)
    return await whileJobStarts(resolved, async () => {
      const client = new WeirClient(resolved)
      const opened = client.pool.open().then(() => client)
      return await opened.catch((error: unknown) =>
        client.close().then(() => Promise.reject(error)),
      )
    })
  }

  /** Endpoints and states of the last routing table. */
  get routing(): RoutingTable {
    const table = this.pool.routing
    if (table === undefined) throw new WeirError('ILLEGAL_STATE', 'the client is not connected')
    return table
  }

  /**
   * Fetches the routing table now; calls at the same time share one request. Answers with another epoch do this by
   * themselves, but a client that sends nothing is not informed of a version that goes live.
   */
  async refreshRouting(): Promise<RoutingTable> {
    await this.pool.refresh()
    return this.routing
  }

  /** Calls that wait for an answer. */
  get outstanding(): number {
    return this.predictions.outstanding + this.sparseDots.outstanding + this.requests.outstanding
  }

  predict(
    state: string,
    left: string,
    right: string,
    options: PredictOptions = NO_OPTIONS,
  ): Promise<Prediction> {
    const refusal = predictionRefusal('client.predict', state, left, right, options)
    if (refusal !== undefined) return refusal
    return this.predictions.ask(state, left, right, options, false) as Promise<Prediction>
  }

  predictWithEnvelope(
    state: string,
    left: string,
    right: string,
    options: PredictOptions = NO_OPTIONS,
  ): Promise<Answer<Prediction>> {
    const refusal = predictionRefusal('client.predictWithEnvelope', state, left, right, options)
    if (refusal !== undefined) return refusal
    return this.predictions.ask(state, left, right, options, true) as Promise<Answer<Prediction>>
  }

  /** Predictions of many pairs whose keys are bytes already. Errors of single pairs are answers. */
  async predictPairs(
    state: string,
    pairs: EncodedPairs,
    options: PredictOptions = NO_OPTIONS,
  ): Promise<PairPredictions> {
    checkCall('client.predictPairs', state, PREDICT, options)
    return await this.predictions.askPairs(state, pairs, options)
  }

  async rows(
    state: string,
    keys: readonly string[],
    options: QueryOptions = NO_OPTIONS,
  ): Promise<Answer<Float32Array>[]> {
    checkRowKeys('client.rows', state, keys, QUERY, options)
    return await this.readRows(state, keys, options)
  }

  private async readRows(
    state: string,
    keys: readonly string[],
    options: QueryOptions,
  ): Promise<Answer<Float32Array>[]> {
    const ask = (missing: readonly string[]) => this.requests.rows(state, missing, options)
    if (this.cache === undefined || !mayBeCached(options)) return await ask(keys)
    return await this.cache.read({ state, keys, options }, ask)
  }

  async values(
    state: string,
    keys: readonly PlainKey[],
    options: QueryOptions = NO_OPTIONS,
  ): Promise<Answer<Uint8Array>[]> {
    checkKeys('client.values', state, keys, QUERY, options)
    return await this.requests.values(state, keys.map(keyText), options)
  }

  /**
   * The decoded value of a key: a row of vector state, a Map of map state, an array of list state, else
   * what the state's function stored. Undefined for a key that has none. Rejects with every other error: INVALID_ARGUMENT
   * for a key or a serializer of another type than that of the state.
   */
  async get<T = unknown>(
    state: string,
    key: PlainKey,
    options: GetOptions = NO_OPTIONS,
  ): Promise<T | undefined> {
    const answer = await this.reads.get<T>('client.get', state, key, options)
    if (answer.ok) return answer.value
    if (answer.error.code === 'UNKNOWN_KEY') return undefined
    throw answer.error
  }

  /** As `get`, with the envelope of the answer; a key without a value has the error UNKNOWN_KEY. */
  async getWithEnvelope<T = unknown>(
    state: string,
    key: PlainKey,
    options: GetOptions = NO_OPTIONS,
  ): Promise<Answer<T>> {
    return await this.reads.get<T>('client.getWithEnvelope', state, key, options)
  }

  /**
   * The entries of a range with decoded keys and values, in the order of the bytes of their keys: numbers rise, and so do
   * the windows of a key. They are read page by page, as the caller goes on, so that a change may show in a later page.
   * Throws as `get`.
   *
   * ```ts
   * for await (const { key, value } of client.entries('counts', { prefix: ['ann'] })) console.log(key, value)
   * ```
   */
  entries<K = PlainKey, T = unknown>(
    state: string,
    options: EntriesOptions = NO_OPTIONS,
  ): AsyncGenerator<StateEntry<K, T>, void> {
    return this.reads.entries<K, T>(state, options)
  }

  async scan(state: string, range: KeyRange, options = NO_OPTIONS): Promise<ScanEntry[]> {
    checkCall('client.scan', state, QUERY, options)
    checkArgument('client.scan', 'range', RANGE, range)
    return await this.requests.scan(state, textsOf(range), options)
  }

  sparseDot(
    state: string,
    features: SparseVector,
    options: QueryOptions = NO_OPTIONS,
  ): Promise<Answer<SparseProduct>> {
    const refusal = productRefusal('client.sparseDot', state, features, QUERY, options)
    if (refusal !== undefined) return refusal
    return this.product(state, features, options, false)
  }

  /**
   * Decision value and label of an example: of ids and values, or of a model with `--hash-bits` a text with the names of
   * its features, `|user age:0.3 DE |ad sports` (`HashedLine`). Of a model of several classes the threshold and the given labels
   * say nothing. Rejects with the answer's error, INVALID_ARGUMENT, NOT_FINITE.
   */
  async predictLinear(
    state: string,
    features: SparseVector | string,
    options: LinearPredictOptions = NO_OPTIONS,
  ): Promise<LinearPrediction> {
    checkLinear(state, features, options)
    return await this.linear.predict(state, features, options)
  }

  private product(
    state: string,
    features: SparseVector,
    options: QueryOptions,
    isDecision: boolean,
  ): Promise<Answer<SparseProduct>> {
    const refusal = this.refusalOf(1)
    if (refusal !== undefined) return Promise.resolve({ ok: false, error: refusal })
    return this.sparseDots.ask(state, features, options, isDecision)
  }

  /** Retries a failed sparse product through the general requests. */
  private readonly retrySparse: RetrySparse = async (product) => {
    const { terms, deadlineAt, error: failed } = product
    const { state, isDecision } = terms
    const body = () => sparseProduct(state, product.features, isDecision)
    product.settle(await this.requests.answer({ state, options: terms, deadlineAt, body, failed }))
  }

  async topK(
    state: string,
    query: string | Float32Array,
    options: TopKOptions,
  ): Promise<Answer<ScoredKey[]>> {
    checkCall('client.topK', state, TOP_K, options)
    checkArgument('client.topK', 'query', TOP_K_QUERY, query)
    const excluded = options.exclude?.length ?? 0
    requireArgument(
      excluded <= MAX_COUNT,
      `at most ${MAX_COUNT} keys are excluded, not ${excluded}`,
    )
    const body = () => topKRequest(state, query, options)
    const deadlineAt = this.requests.deadlineOf(options)
    return await this.requests.answer({ state, options, deadlineAt, body })
  }

  /**
   * Runs a model of any kind on named tensors. Rejects with UNKNOWN_MODEL, SIGNATURE_MISMATCH, OVERLOADED,
   * DEADLINE_EXCEEDED, MODEL_FAILED.
   *
   * ```ts
   * const { outputs } = await client.infer('digits', [{ name: 'x', shape: [1, 784], data: pixels }])
   * ```
   */
  async infer(
    model: string,
    inputs: readonly InputTensor[],
    options: InferOptions = NO_OPTIONS,
  ): Promise<InferResult> {
    checkCall('client.infer', model, INFER, options)
    checkArgument('client.infer', 'inputs', INPUT_TENSORS, inputs)
    const request = { inputs: inputs.map(rawTensorOf), outputs: options.outputs ?? [] }
    const answer = await this.requests.infer(model, request, options)
    return { ...answer, outputs: answer.outputs.map(outputTensorOf) }
  }

  /** As `infer`, on tensors whose elements are bytes in the order of the Open Inference Protocol. */
  async inferRaw(
    model: string,
    request: InferRequest,
    options: QueryOptions = NO_OPTIONS,
  ): Promise<RawInferResult> {
    checkInferRaw(model, request, options)
    return await this.requests.infer(model, request, options)
  }

  /** Models of any kind that the job serves. Rejects with UNSUPPORTED where it serves rows only. */
  async models(options: QueryOptions = NO_OPTIONS): Promise<readonly ModelInfo[]> {
    checkOptions('client.models', QUERY, options)
    return await this.requests.models({ action: 'list', model: '' }, options)
  }

  /** Inputs, outputs and versions of one model. Rejects with UNKNOWN_MODEL. */
  async signature(model: string, options: QueryOptions = NO_OPTIONS): Promise<ModelInfo> {
    checkCall('client.signature', model, QUERY, options)
    const [info] = await this.requests.models({ action: 'list', model }, options)
    return info!
  }

  /** Loads a model again, or unloads it; needs the role `admin`. Resolves when it is done. */
  async changeModel(
    action: 'load' | 'unload',
    model: string,
    options: QueryOptions = NO_OPTIONS,
  ): Promise<ModelInfo> {
    checkCall('client.changeModel', model, QUERY, options)
    checkArgument('client.changeModel', 'action', MODEL_ACTION, action)
    const [info] = await this.requests.models({ action, model }, options)
    return info!
  }

  /** The error of a number of calls that cannot be taken now. */
  private refusalOf(calls: number): WeirError | undefined {
    if (this.isClosed) return new WeirError('UNAVAILABLE', 'the client is closed')
    if (this.outstanding + calls <= this.options.maxInFlight) return undefined
    return new WeirError('OVERLOADED', 'too many calls wait for answers; await some of them')
  }

  /** Closes every connection; calls still waiting fail with UNAVAILABLE. Idempotent. */
  async close(): Promise<void> {
    if (this.isClosed) return
    this.isClosed = true
    this.predictions.close()
    this.retries.close()
    this.pool.close()
    this.wheel.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
