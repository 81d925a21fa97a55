import { requireArgument, WeirError } from '../core/errors.ts'
import { asWeirError } from '../wire/answer.ts'
import { DeadlineWheel } from '../wire/deadline-wheel.ts'
import { KIND } from '../wire/frame.ts'
import {
  type LinearPrediction,
  type LinearPredictOptions,
  linearPrediction,
} from '../wire/linear-prediction.ts'
import type {
  Answer,
  ModelReader,
  Prediction,
  PredictOptions,
  QueryOptions,
  ScanEntry,
  ScoredKey,
  SparseProduct,
  SparseVector,
  TopKOptions,
} from '../wire/model-reader.ts'
import { MAX_K } from '../wire/request.ts'
import type { RoutingTable } from '../wire/routing-table.ts'
import { withBiasFeature } from '../wire/sparse-vector.ts'
import { WriterPool } from '../wire/writer-pool.ts'
import { decideRetry } from './backoff.ts'
import type { ClientConnection } from './client-connection.ts'
import {
  type ClientOptions,
  type ResolvedClientOptions,
  resolveClientOptions,
} from './client-options.ts'
import {
  ColdRequest,
  multiGet,
  type RequestBody,
  scanRequest,
  sparseProduct,
  topKRequest,
} from './cold-requests.ts'
import { ConnectionPool } from './connection-pool.ts'
import { channels } from './diagnostics.ts'
import { hintOf, Predictions } from './predictions.ts'
import { RowCache } from './row-cache.ts'
import { type RetrySparse, SparseDots } from './sparse-dots.ts'

const NO_OPTIONS: QueryOptions = {}
const LIVE = { level: 'live' } as const
/** Keys of one multi-get frame; longer lists are split. */
const KEYS_PER_FRAME = 4096

/**
 * Queries a running job over TCP. Connect once and share it: concurrent calls travel together.
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
  private readonly cache: RowCache | undefined
  private coldInFlight = 0
  private isClosed = false

  private constructor(options: ResolvedClientOptions) {
    this.options = options
    this.wheel = new DeadlineWheel(options.clock)
    this.writers = new WriterPool()
    this.pool = new ConnectionPool(options, { wheel: this.wheel, writers: this.writers })
    this.predictions = new Predictions(options, this.pool)
    this.sparseDots = new SparseDots(options, this.pool, this.retrySparse)
    this.cache =
      options.cache === undefined ? undefined : new RowCache(options.cache, options.clock)
  }

  /**
   * Fetches the routing table from the bootstrap port and connects to every query thread. Rejects
   * with UNAVAILABLE, UNAUTHENTICATED, UNSUPPORTED_VERSION.
   */
  static async connect(options: ClientOptions = {}): Promise<WeirClient> {
    const client = new WeirClient(resolveClientOptions(options))
    try {
      await client.pool.open()
    } catch (error) {
      await client.close()
      throw error
    }
    return client
  }

  /** Endpoints and states as last heard. */
  get routing(): RoutingTable {
    const table = this.pool.routing
    if (table === undefined) throw new WeirError('ILLEGAL_STATE', 'the client is not connected')
    return table
  }

  /** Calls that wait for an answer. */
  get outstanding(): number {
    return this.predictions.outstanding + this.sparseDots.outstanding + this.coldInFlight
  }

  predict(
    state: string,
    left: string,
    right: string,
    options: PredictOptions = NO_OPTIONS,
  ): Promise<Prediction> {
    return this.predictions.ask(state, left, right, options, false) as Promise<Prediction>
  }

  predictWithEnvelope(
    state: string,
    left: string,
    right: string,
    options: PredictOptions = NO_OPTIONS,
  ): Promise<Answer<Prediction>> {
    return this.predictions.ask(state, left, right, options, true) as Promise<Answer<Prediction>>
  }

  async rows(
    state: string,
    keys: readonly string[],
    options: QueryOptions = NO_OPTIONS,
  ): Promise<Answer<Float32Array>[]> {
    const { cache } = this
    if (cache === undefined || !mayBeCached(options)) {
      return await this.multiGet(KIND.rows, state, keys, options, floatsOf)
    }
    const maxAge =
      options.consistency?.level === 'bounded' ? options.consistency.maxAgeMs : undefined
    const version = options.version ?? 0
    const answers = keys.map((key) => cache.get(state, version, key, maxAge))
    const missing = keys.filter((_, i) => answers[i] === undefined)
    const fetched = await this.multiGet(KIND.rows, state, missing, options, floatsOf)
    missing.forEach((key, i) => {
      cache.put(state, version, key, fetched[i]!)
    })
    let next = 0
    return answers.map((answer) => answer ?? fetched[next++]!)
  }

  values(
    state: string,
    keys: readonly string[],
    options: QueryOptions = NO_OPTIONS,
  ): Promise<Answer<Uint8Array>[]> {
    return this.multiGet(KIND.values, state, keys, options, asTheyAre)
  }

  async scan(
    state: string,
    range: { readonly from: string; readonly to: string; readonly limit: number },
    options: QueryOptions = NO_OPTIONS,
  ): Promise<ScanEntry[]> {
    requireArgument(
      Number.isInteger(range.limit) && range.limit >= 0,
      `a scan's limit is a whole number from 0, not ${range.limit}`,
    )
    const entries: ScanEntry[] = []
    const deadlineAt = this.deadlineOf(options)
    let from: string | undefined = range.from
    while (from !== undefined && entries.length < range.limit) {
      const left: number = Math.min(range.limit - entries.length, 0xffffffff)
      const body = () => scanRequest(from!, range.to, left)
      const page = await this.ask(state, options, deadlineAt, body)
      for (const entry of page.entries) entries.push(entry)
      from = page.next
    }
    return entries
  }

  sparseDot(
    state: string,
    features: SparseVector,
    options: QueryOptions = NO_OPTIONS,
  ): Promise<Answer<SparseProduct>> {
    return this.product(state, features, options, false)
  }

  /** Decision value and label of an example, ids rising. Rejects with the answer's error, NOT_FINITE. */
  async predictLinear(
    state: string,
    features: SparseVector,
    options: LinearPredictOptions = NO_OPTIONS,
  ): Promise<LinearPrediction> {
    const answer = await this.product(state, features, options, true)
    if (!answer.ok) throw answer.error
    const { sum, unknown } = answer.value
    return linearPrediction(sum, unknown, answer.envelope.modelVersion, options)
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

  /** A sparse product whose first try failed goes the way of all other requests. */
  private readonly retrySparse: RetrySparse = async (call, terms, deadlineAt, error) => {
    if (!(await this.waitForRetry(error, 1, deadlineAt))) {
      call.settle({ ok: false, error })
      return
    }
    const features = terms.isDecision ? withBiasFeature(call.features) : call.features
    const body = () => sparseProduct(terms.state, features)
    call.settle(await this.answered(this.ask(terms.state, terms, deadlineAt, body)))
  }

  topK(
    state: string,
    query: string | Float32Array,
    options: TopKOptions,
  ): Promise<Answer<ScoredKey[]>> {
    requireArgument(
      Number.isInteger(options.k) && options.k >= 1 && options.k <= MAX_K,
      `k must be a whole number from 1 to ${MAX_K}, not ${options.k}`,
    )
    const body = () => topKRequest(state, query, options)
    return this.answered(this.ask(state, options, this.deadlineOf(options), body))
  }

  /** A failure of a whole request with one answer is that answer. */
  private async answered<T>(asked: Promise<Answer<T>>): Promise<Answer<T>> {
    try {
      return await asked
    } catch (error) {
      return { ok: false, error: asWeirError(error) }
    }
  }

  private async multiGet<T>(
    kind: number,
    state: string,
    keys: readonly string[],
    options: QueryOptions,
    decode: (bytes: Uint8Array) => T,
  ): Promise<Answer<T>[]> {
    const deadlineAt = this.deadlineOf(options)
    const parts: Promise<Answer<T>[]>[] = []
    for (let at = 0; at < keys.length; at += KEYS_PER_FRAME) {
      const part = keys.slice(at, at + KEYS_PER_FRAME)
      parts.push(this.getPart(kind, state, part, options, decode, deadlineAt))
    }
    return (await Promise.all(parts)).flat()
  }

  /** Keys whose answers may be better later are asked for again; what was answered stays. */
  private async getPart<T>(
    kind: number,
    state: string,
    keys: readonly string[],
    options: QueryOptions,
    decode: (bytes: Uint8Array) => T,
    deadlineAt: number,
  ): Promise<Answer<T>[]> {
    const get = (wanted: readonly string[]) =>
      this.ask(state, options, deadlineAt, () => multiGet(kind, state, wanted, decode))
    const answers = await get(keys)
    for (let attempt = 1; ; attempt++) {
      const failed = answers.flatMap((answer, i) =>
        !answer.ok && answer.error.retryable ? [{ index: i, error: answer.error }] : [],
      )
      const first = failed[0]
      if (first === undefined || !(await this.waitForRetry(first.error, attempt, deadlineAt))) {
        return answers
      }
      const again = await get(failed.map(({ index }) => keys[index]!)).catch(() => [])
      again.forEach((answer, i) => {
        answers[failed[i]!.index] = answer
      })
    }
  }

  /** Sends one request and tries again while that can help. */
  private async ask<T>(
    state: string,
    options: QueryOptions,
    deadlineAt: number,
    body: () => RequestBody<T>,
  ): Promise<T> {
    let hint: string | undefined
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.send(state, options, deadlineAt, body(), hint)
      } catch (thrown) {
        const error = asWeirError(thrown)
        if (!(await this.waitForRetry(error, attempt, deadlineAt))) throw error
        hint = hintOf(error)
      }
    }
  }

  /** Waits before another try; false when none is due. */
  private async waitForRetry(
    error: WeirError,
    attempt: number,
    deadlineAt: number,
  ): Promise<boolean> {
    const { clock, retry, random } = this.options
    const left = deadlineAt - clock.monotonicMs()
    const decision = decideRetry(error, attempt, left, retry, random)
    if (decision.kind !== 'retry' || this.isClosed) return false
    channels.retry.publish({ code: error.code, attempt, waitMs: decision.waitMs })
    await new Promise<void>((resolve) => {
      clock.after(decision.waitMs, resolve)
    })
    return !this.isClosed
  }

  private async send<T>(
    state: string,
    options: QueryOptions,
    deadlineAt: number,
    body: RequestBody<T>,
    hint: string | undefined,
  ): Promise<T> {
    const refusal = this.refusalOf(body.count)
    if (refusal !== undefined) throw refusal
    const connection = this.pool.pick(hint)
    if (connection === undefined) throw this.pool.reason
    const now = this.options.clock.monotonicMs()
    const terms = {
      state,
      version: options.version ?? 0,
      consistency: options.consistency ?? LIVE,
      deadlineMs: Math.max(1, Math.round(deadlineAt - now)),
    }
    const request = new ColdRequest(terms, body, now, (expired) => connection.forget(expired))
    request.requestId = connection.newRequestId()
    this.transmit(request, connection)
    this.coldInFlight += body.count
    try {
      return await request.promise
    } finally {
      this.coldInFlight -= body.count
    }
  }

  /** Why this number of calls cannot be taken now. */
  private refusalOf(calls: number): WeirError | undefined {
    if (this.isClosed) return new WeirError('UNAVAILABLE', 'the client is closed')
    if (this.outstanding + calls <= this.options.maxInFlight) return undefined
    return new WeirError('OVERLOADED', 'too many calls wait for answers; await some of them')
  }

  private transmit<T>(request: ColdRequest<T>, connection: ClientConnection): void {
    let writer = this.writers.acquire()
    try {
      request.write(writer)
      if (writer.length - 4 > connection.maxFrameBytes) {
        throw new WeirError(
          'FRAME_TOO_LARGE',
          `the request takes ${writer.length} bytes, the server accepts ${connection.maxFrameBytes}`,
        )
      }
      writer = connection.send(request, writer)
    } finally {
      this.writers.release(writer)
    }
  }

  private deadlineOf(options: QueryOptions): number {
    return this.options.clock.monotonicMs() + (options.deadlineMs ?? this.options.deadlineMs)
  }

  /** Closes every connection; calls still waiting fail with UNAVAILABLE. Idempotent. */
  async close(): Promise<void> {
    if (this.isClosed) return
    this.isClosed = true
    this.predictions.close()
    this.pool.close()
    this.wheel.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

function mayBeCached(options: QueryOptions): boolean {
  const level = options.consistency?.level ?? 'live'
  return level === 'live' || level === 'bounded'
}

const floatsOf = (bytes: Uint8Array): Float32Array =>
  new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)
const asTheyAre = (bytes: Uint8Array): Uint8Array => bytes
