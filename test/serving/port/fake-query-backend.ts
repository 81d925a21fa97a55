import { WeirError } from '../../../src/core/errors.ts'
import type {
  DeferredPredictions,
  KeySpan,
  PairKeys,
  QueryBackend,
  ReadGroup,
  ReadOutcome,
  ReadStatus,
  ScanRange,
} from '../../../src/serving/port/query-backend.ts'
import { RankedKeys } from '../../../src/serving/port/ranked-keys.ts'
import type { OwnedQueryOptions } from '../../../src/serving/port/request-owner.ts'
import { ScanPage } from '../../../src/serving/port/scan-page.ts'
import { DEFERRED } from '../../../src/wire/frame.ts'
import type {
  Answer,
  AnswerEnvelope,
  Consistency,
  ModelReader,
  Prediction,
  PredictOptions,
  QueryOptions,
  ScanEntry,
  ScoredKey,
  SparseProduct,
  SparseVector,
  TopKOptions,
} from '../../../src/wire/model-reader.ts'
import type { RoutingTable } from '../../../src/wire/routing-table.ts'
import { OK, statusOf } from '../../../src/wire/status.ts'

const decoder = new TextDecoder()

/** Rows of one vector state in a Map: what a query server needs, without the engine. */
export class FakeQueryBackend implements QueryBackend, ReadGroup {
  modelVersion = 1
  checkpointId = 7
  ageMs = 3
  readonly state: string
  readonly rows = new Map<string, Float32Array>()
  readonly encoded = new Map<string, Uint8Array>()
  /** Keys that only the asynchronous way can answer. */
  readonly slowKeys = new Set<string>()
  /** Keys that fail, with how often they still do. */
  readonly failing = new Map<string, { error: WeirError; times: number }>()
  epoch = 1
  endpoints: RoutingTable['endpoints'] = []
  readonly reader: ModelReader
  /** Asynchronous requests wait for this. */
  gate: Promise<void> = Promise.resolve()

  constructor(state = 'ALS_MODEL') {
    this.state = state
    this.reader = new FakeReader(this)
  }

  open(state: string, version: number, consistency: Consistency): ReadGroup | undefined {
    this.check(state, version)
    return consistency.level === 'at-least' ? undefined : this
  }

  check(state: string, version: number | undefined): void {
    if (state !== this.state) throw new WeirError('UNKNOWN_STATE', `there is no state ${state}`)
    if (version !== undefined && version > 1) {
      throw new WeirError('UNKNOWN_VERSION', `version ${version} is not loaded`)
    }
  }

  async scanPage(state: string, range: ScanRange, options: OwnedQueryOptions): Promise<ScanPage> {
    const entries = await this.reader.scan(state, range, options)
    const last = entries.at(-1)
    const isFull = last !== undefined && entries.length === range.limit
    return ScanPage.of(entries, isFull ? `${last.key}\0` : undefined)
  }

  async topKRanked(
    state: string,
    query: string | Float32Array,
    options: TopKOptions,
  ): Promise<Answer<RankedKeys>> {
    const answer = await this.reader.topK(state, query, options)
    return answer.ok ? { ...answer, value: RankedKeys.of(answer.value) } : answer
  }

  routingEpoch(): number {
    return this.epoch
  }

  routing(): RoutingTable {
    return {
      epoch: this.epoch,
      job: 'als',
      endpoints: this.endpoints,
      states: [{ name: this.state, kind: 'vector', dimension: 2, versions: [1], liveVersion: 1 }],
      sources: [{ number: 0, uid: 'rows', tracked: true }],
    }
  }

  readAhead(): void {}

  predict(
    keys: PairKeys,
    pair: number,
    coldLeft: KeySpan | undefined,
    coldRight: KeySpan | undefined,
    outcome: ReadOutcome,
  ): ReadStatus {
    const left = textOf(keys.bytes, keys.at[2 * pair]!, keys.length[2 * pair]!)
    const right = textOf(keys.bytes, keys.at[2 * pair + 1]!, keys.length[2 * pair + 1]!)
    if (this.slowKeys.has(left) || this.slowKeys.has(right)) return DEFERRED
    const failure = this.failureOf(left) ?? this.failureOf(right)
    if (failure !== undefined) return statusOf(failure.code)
    const p = this.rows.get(left) ?? this.coldRow(coldLeft)
    const q = this.rows.get(right) ?? this.coldRow(coldRight)
    if (p === undefined || q === undefined) return statusOf('UNKNOWN_KEY')
    outcome.score = dot(p, q)
    outcome.leftCold = !this.rows.has(left)
    outcome.rightCold = !this.rows.has(right)
    this.mark(outcome)
    return OK
  }

  private coldRow(span: KeySpan | undefined): Float32Array | undefined {
    return span === undefined ? undefined : this.rows.get(textOf(span.bytes, span.at, span.length))
  }

  row(bytes: Uint8Array, at: number, length: number, outcome: ReadOutcome): ReadStatus {
    const key = textOf(bytes, at, length)
    if (this.slowKeys.has(key)) return DEFERRED
    const failure = this.failureOf(key)
    if (failure !== undefined) return statusOf(failure.code)
    const row = this.rows.get(key)
    if (row === undefined) return statusOf('UNKNOWN_KEY')
    outcome.row = new Uint8Array(row.buffer, row.byteOffset, row.byteLength)
    this.mark(outcome)
    return OK
  }

  sparseDot(): ReadStatus {
    return DEFERRED
  }

  predictDeferred(
    state: string,
    { bytes, spans }: DeferredPredictions,
    options: PredictOptions,
  ): Promise<Answer<Prediction>[]> {
    const keyAt = (n: number): string => textOf(bytes, spans[2 * n]!, spans[2 * n + 1]!)
    const pairs = Array.from({ length: spans.length / 4 }, (_, pair) => pair)
    return Promise.all(
      pairs.map((pair) =>
        this.reader.predictWithEnvelope(state, keyAt(2 * pair), keyAt(2 * pair + 1), options),
      ),
    )
  }

  private mark(outcome: ReadOutcome): void {
    outcome.slot = 2
    outcome.partition = 5
    outcome.offset = 2 ** 40 + 1
    outcome.ageMs = 3.5
  }

  failureOf(key: string): WeirError | undefined {
    const failure = this.failing.get(key)
    if (failure === undefined) return undefined
    if (--failure.times <= 0) this.failing.delete(key)
    return failure.error
  }
}

/** The envelope of everything the fake answers. */
export const FAKE_ENVELOPE: AnswerEnvelope = {
  modelVersion: 1,
  partition: 5,
  offset: 2 ** 40 + 1,
  checkpointId: 7,
  ageMs: 3.5,
  servedBy: 'query-0/2',
}

class FakeReader implements ModelReader {
  private readonly backend: FakeQueryBackend

  constructor(backend: FakeQueryBackend) {
    this.backend = backend
  }

  private lookup<T>(key: string, found: T | undefined): Answer<T> {
    const error = this.backend.failureOf(key)
    if (error !== undefined) return { ok: false, error }
    if (found === undefined) {
      return { ok: false, error: new WeirError('UNKNOWN_KEY', `there is no key ${key}`) }
    }
    return { ok: true, value: found, envelope: FAKE_ENVELOPE }
  }

  async rows(
    state: string,
    keys: readonly string[],
    options: QueryOptions = {},
  ): Promise<Answer<Float32Array>[]> {
    await this.backend.gate
    this.backend.check(state, options.version)
    return keys.map((key) => this.lookup(key, this.backend.rows.get(key)))
  }

  async values(
    state: string,
    keys: readonly string[],
    options: QueryOptions = {},
  ): Promise<Answer<Uint8Array>[]> {
    await this.backend.gate
    this.backend.check(state, options.version)
    return keys.map((key) => this.lookup(key, this.backend.encoded.get(key)))
  }

  async scan(
    state: string,
    range: { readonly from: string; readonly to: string; readonly limit: number },
    options: QueryOptions = {},
  ): Promise<ScanEntry[]> {
    this.backend.check(state, options.version)
    return [...this.backend.encoded]
      .filter(([key]) => key >= range.from && key < range.to)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .slice(0, range.limit)
      .map(([key, value]) => ({ key, value }))
  }

  async predict(
    state: string,
    left: string,
    right: string,
    options: PredictOptions = {},
  ): Promise<Prediction> {
    const answer = await this.predictWithEnvelope(state, left, right, options)
    if (!answer.ok) throw answer.error
    return answer.value
  }

  async predictWithEnvelope(
    state: string,
    left: string,
    right: string,
    options: PredictOptions = {},
  ): Promise<Answer<Prediction>> {
    const [p, q] = await this.rows(state, [left, right], options)
    if (!p!.ok) return p!
    if (!q!.ok) return q!
    const score = dot(p!.value, q!.value)
    return {
      ok: true,
      value: { score, leftCold: false, rightCold: false },
      envelope: FAKE_ENVELOPE,
    }
  }

  async sparseDot(
    state: string,
    features: SparseVector,
    options: QueryOptions = {},
  ): Promise<Answer<SparseProduct>> {
    this.backend.check(state, options.version)
    let sum = 0
    let unknown = 0
    features.ids.forEach((id, i) => {
      const block = this.backend.rows.get(String(Math.floor(id / 2)))
      if (block === undefined) unknown++
      else sum += block[id % 2]! * features.values[i]!
    })
    return { ok: true, value: { sum, unknown }, envelope: FAKE_ENVELOPE }
  }

  async topK(
    state: string,
    query: string | Float32Array,
    options: TopKOptions,
  ): Promise<Answer<ScoredKey[]>> {
    this.backend.check(state, options.version)
    const error = typeof query === 'string' ? this.backend.failureOf(query) : undefined
    if (error !== undefined) return { ok: false, error }
    const vector =
      typeof query === 'string'
        ? (this.backend.rows.get(query) ?? this.backend.rows.get(options.cold ?? ''))
        : query
    if (vector === undefined) return this.lookup<ScoredKey[]>(String(query), undefined)
    const value = [...this.backend.rows]
      .filter(([key]) => key.endsWith(options.suffix ?? '') && !options.exclude?.includes(key))
      .map(([key, row]) => ({ key, score: dot(vector, row) }))
      .sort((a, b) => b.score - a.score)
      .slice(0, options.k)
    return { ok: true, value, envelope: FAKE_ENVELOPE }
  }
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!
  return sum
}

function textOf(bytes: Uint8Array, at: number, length: number): string {
  return decoder.decode(bytes.subarray(at, at + length))
}
