import { WeirError } from '../core/errors.ts'
import { isOtherKey } from '../core/formats/key-text.ts'
import { callSpan, endWith } from '../core/tracing/call-span.ts'
import type { TraceContext } from '../core/tracing/context.ts'
import { type AnswerCursor, answerErrorOf } from '../wire/answer.ts'
import type { DeadlineEntry } from '../wire/deadline-wheel.ts'
import { KIND, nameOfKind } from '../wire/frame.ts'
import type { FrameWriter } from '../wire/frame-writer.ts'
import type { InferRequest, RawInferResult } from '../wire/inference/infer.ts'
import type { ModelInfo, ModelsRequest } from '../wire/inference/models.ts'
import type { Answer, Consistency, QueryOptions, ScanEntry } from '../wire/model-reader.ts'
import { beginRequest } from '../wire/request.ts'
import { textInstead } from '../wire/state/asked-key.ts'
import type { WriterPool } from '../wire/writer-pool.ts'
import type { ClientConnection } from './connection.ts'
import type { ConnectionPool } from './connection-pool.ts'
import { type InFlight, noAnswerWithin } from './in-flight.ts'
import type { ResolvedClientOptions } from './options.ts'
import { groupsByOwner, otherReadings } from './owners/key-owners.ts'
import { SharedScans } from './owners/shared-scans.ts'
import {
  inferBody,
  modelsBody,
  multiGet,
  type RequestBody,
  type ScanPage,
  scanRequest,
} from './request-bodies.ts'
import type { Retries } from './retries.ts'

/** Keys of one multi-get frame; longer lists are split. */
const KEYS_PER_FRAME = 4096

const LIVE = { level: 'live' } as const

/** A range of keys. */
interface AskedRange {
  readonly from: string
  readonly to: string
  readonly limit: number
}

/** What general requests use of their client. */
export interface GeneralRequestsOptions {
  readonly options: ResolvedClientOptions
  readonly pool: ConnectionPool
  readonly writers: WriterPool
  readonly retries: Retries
  /** The error of a number of calls that cannot be taken now. */
  refusalOf(calls: number): WeirError | undefined
}

/** A request that is asked until it is answered or its time is over. */
export interface Asked<T> {
  readonly state: string
  readonly options: QueryOptions
  /** Monotonic ms. */
  readonly deadlineAt: number
  /** The body of one try. */
  readonly body: () => RequestBody<T>
  /** The server decides by when it answers: the deadline is not sent. */
  readonly isServersDeadline?: boolean
  /** The error of a try that has failed before. */
  readonly failed?: WeirError
}

/** Keys whose rows or encoded values are wanted. */
interface Wanted<T> {
  /** Frame kind: rows or values. */
  readonly kind: number
  readonly state: string
  readonly options: QueryOptions
  /** Gets bytes that are not shared. */
  readonly decode: (bytes: Uint8Array) => T
}

/** All requests but predictions and first tries of sparse products: one frame each, with retries. */
export class GeneralRequests {
  private readonly owner: GeneralRequestsOptions
  private inFlight = 0

  constructor(owner: GeneralRequestsOptions) {
    this.owner = owner
  }

  /** Calls that wait for an answer. */
  get outstanding(): number {
    return this.inFlight
  }

  /** The deadline of a call that begins now, monotonic ms. */
  deadlineOf({ deadlineMs }: QueryOptions): number {
    const { clock, deadlineMs: usual } = this.owner.options
    return clock.monotonicMs() + (deadlineMs ?? usual)
  }

  /** Sends one request and tries again while that can help. */
  ask<T>(asked: Asked<T>): Promise<T> {
    const work = (hint: string | undefined) => this.send(asked, asked.body(), hint)
    return this.owner.retries.run(asked.deadlineAt, work, asked.failed)
  }

  /** As `ask`, where a failure is the answer, of the whole request or inside its frame. */
  async answer<T>(asked: Asked<Answer<T>>): Promise<Answer<T>> {
    const work = async (hint: string | undefined): Promise<Answer<T>> => {
      const answer = await this.send(asked, asked.body(), hint)
      if (!answer.ok && answer.error.retryable) throw answer.error
      return answer
    }
    try {
      return await this.owner.retries.run(asked.deadlineAt, work, asked.failed)
    } catch (error) {
      return { ok: false, error: answerErrorOf(error) }
    }
  }

  /** Rows in the order of the keys. Rejects when a first try fails as a whole. */
  rows(
    state: string,
    keys: readonly string[],
    options: QueryOptions,
  ): Promise<Answer<Float32Array>[]> {
    return this.get(keys, { kind: KIND.rows, state, options, decode: floatsOf })
  }

  /** Encoded values in the order of the keys. Rejects when a first try fails as a whole. */
  async values(
    state: string,
    keys: readonly string[],
    options: QueryOptions,
  ): Promise<Answer<Uint8Array>[]> {
    const wanted = { kind: KIND.values, state, options, decode: asTheyAre }
    const answers = await this.get(keys, wanted)
    const again = otherReadings(this.owner.pool.routing, { state, keys, answers })
    if (again.length === 0) return answers
    const others = await this.get(
      again.map(({ other }) => other),
      wanted,
    )
    for (const [n, { at, text }] of again.entries()) {
      const other = others[n]!
      if (!other.ok) continue
      answers[at] = isOtherKey(text) ? { ok: false, error: textInstead(text) } : other
    }
    return answers
  }

  /** The entries of a range, page by page. */
  async scan(
    state: string,
    range: { readonly from: string; readonly to: string; readonly limit: number },
    options: QueryOptions,
  ): Promise<ScanEntry[]> {
    const entries: ScanEntry[] = []
    const deadlineAt = this.deadlineOf(options)
    let from: string | undefined = range.from
    while (from !== undefined && entries.length < range.limit) {
      const left: number = Math.min(range.limit - entries.length, 0xffffffff)
      const rest = { from, to: range.to, limit: left }
      const page: ScanPage = await this.pageOf(state, rest, { options, deadlineAt })
      for (const entry of page.entries) entries.push(entry)
      from = page.next
    }
    return entries
  }

  /** A run of a model of any kind. */
  infer(model: string, request: InferRequest, options: QueryOptions): Promise<RawInferResult> {
    return this.ask({
      state: model,
      options,
      deadlineAt: this.deadlineOf(options),
      isServersDeadline: options.deadlineMs === undefined,
      body: () => inferBody(request),
    })
  }

  /** The list of models, or a change of one. */
  models(request: ModelsRequest, options: QueryOptions): Promise<ModelInfo[]> {
    const deadlineAt = this.deadlineOf(options)
    const body = () => modelsBody(request)
    return this.ask({ state: request.model, options, deadlineAt, body })
  }

  /** The first entries of a range, as many as the servers give at a time, with a deadline of their own. */
  page(state: string, range: AskedRange, options: QueryOptions): Promise<ScanPage> {
    return this.pageOf(state, range, { options, deadlineAt: this.deadlineOf(options) })
  }

  private pageOf(
    state: string,
    range: AskedRange,
    terms: { readonly options: QueryOptions; readonly deadlineAt: number },
  ): Promise<ScanPage> {
    const { pool, retries } = this.owner
    if (pool.routing?.shares === undefined) {
      const body = () => scanRequest(range.from, range.to, range.limit)
      return this.ask({ state, ...terms, body })
    }
    const scans = new SharedScans({
      routing: () => pool.routing,
      refresh: () => pool.refresh(),
      ask: (partition, endpoint) =>
        retries.run(terms.deadlineAt, (hint) => {
          const body = scanRequest(range.from, range.to, range.limit, partition)
          return this.send({ state, ...terms }, body, hint ?? endpoint())
        }),
    })
    return retries.run(terms.deadlineAt, () => scans.page(state, range.limit))
  }

  private async get<T>(keys: readonly string[], wanted: Wanted<T>): Promise<Answer<T>[]> {
    const deadlineAt = this.deadlineOf(wanted.options)
    const parts: Promise<Answer<T>[]>[] = []
    for (let at = 0; at < keys.length; at += KEYS_PER_FRAME) {
      parts.push(this.getPart(keys.slice(at, at + KEYS_PER_FRAME), wanted, deadlineAt))
    }
    return (await Promise.all(parts)).flat()
  }

  /** Keys whose answers may be better later are asked for again; what was answered stays. */
  private async getPart<T>(
    keys: readonly string[],
    wanted: Wanted<T>,
    deadlineAt: number,
  ): Promise<Answer<T>[]> {
    const { kind, state, options, decode } = wanted
    const answers: Answer<T>[] = []
    let open = [...keys.keys()]
    const work = async (hint: string | undefined): Promise<void> => {
      const groups = groupsByOwner(this.owner.pool.routing, { state, keys, open, answers })
      const sent = groups.map(async ({ endpoint = hint, places }) => {
        const body = multiGet({ kind, state, keys: places.map((i) => keys[i]!), decode })
        const got = await this.send({ state, options, deadlineAt }, body, endpoint)
        for (const [n, at] of places.entries()) answers[at] = got[n]!
      })
      const ended = await Promise.allSettled(sent)
      const failures = ended.flatMap((one, n) =>
        one.status === 'rejected' ? [{ error: one.reason, places: groups[n]!.places }] : [],
      )
      if (failures.length === groups.length) throw failures[0]!.error
      for (const { error, places } of failures) {
        for (const at of places) answers[at] = { ok: false, error: answerErrorOf(error) }
      }
      open = open.filter((i) => isRetryable(answers[i]!))
      const again = answers[open[0] ?? -1]
      if (again?.ok === false) throw again.error
    }
    try {
      await this.owner.retries.run(deadlineAt, work)
    } catch (error) {
      if (answers.length === 0) throw error
    }
    return answers
  }

  private async send<T>(
    { state, options, deadlineAt, isServersDeadline = false }: Omit<Asked<T>, 'body'>,
    body: RequestBody<T>,
    hint: string | undefined,
  ): Promise<T> {
    const { pool, refusalOf, options: client } = this.owner
    const refusal = refusalOf(body.count)
    if (refusal !== undefined) throw refusal
    const connection = pool.pick(hint)
    if (connection === undefined) throw pool.reason
    const now = client.clock.monotonicMs()
    const terms = {
      state,
      version: options.version ?? 0,
      consistency: options.consistency ?? LIVE,
      deadlineMs: Math.max(1, Math.round(deadlineAt - now)),
      isServersDeadline,
    }
    const onExpire = connection.forget.bind(connection)
    const request = new GeneralRequest(terms, body, { now, onExpire })
    const span = callSpan(nameOfKind(body.kind), state)
    request.trace = span
    request.requestId = connection.newRequestId()
    this.transmit(request, connection)
    this.inFlight += body.count
    try {
      return await (span === undefined ? request.promise : endWith(span, request.promise))
    } finally {
      this.inFlight -= body.count
    }
  }

  private transmit<T>(request: GeneralRequest<T>, connection: ClientConnection): void {
    const { writers } = this.owner
    let writer = writers.acquire()
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
      writers.release(writer)
    }
  }
}

const floatsOf = (bytes: Uint8Array): Float32Array =>
  new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)
const asTheyAre = (bytes: Uint8Array): Uint8Array => bytes

function isRetryable(answer: Answer<unknown>): boolean {
  return !answer.ok && answer.error.retryable
}

/** Terms of a request: what its preamble says about how it is to be answered. */
interface RequestTerms {
  readonly state: string
  readonly version: number
  readonly consistency: Consistency
  /** Milliseconds left. */
  readonly deadlineMs: number
  readonly isServersDeadline: boolean
}

/**
 * How much longer than its deadline a request waits for the server, which says at the deadline why it
 * could not answer.
 */
const GRACE_MS = 25

/** A request frame that is not one of a batch, and the promise of its answer. */
class GeneralRequest<T> implements InFlight {
  requestId = 0
  trace: TraceContext | undefined = undefined
  deadlineAt = 0
  previousEntry: DeadlineEntry | undefined = undefined
  nextEntry: DeadlineEntry | undefined = undefined
  readonly calls: number
  readonly promise: Promise<T>
  private readonly body: RequestBody<T>
  private readonly terms: RequestTerms
  private readonly settlers = Promise.withResolvers<T>()
  private readonly onExpire: (request: InFlight) => void

  /** The deadline counts from `now`, monotonic ms. */
  constructor(
    terms: RequestTerms,
    body: RequestBody<T>,
    { now, onExpire }: { readonly now: number; readonly onExpire: (request: InFlight) => void },
  ) {
    this.terms = terms
    this.body = body
    this.calls = body.count
    this.deadlineAt = now + terms.deadlineMs + GRACE_MS
    this.onExpire = onExpire
    this.promise = this.settlers.promise
  }

  /** Writes the request's frame into an empty writer. */
  write(writer: FrameWriter): void {
    const { terms, body } = this
    const sent = terms.isServersDeadline ? { ...terms, deadlineMs: 0 } : terms
    beginRequest(writer, body.kind, body.flags, this.requestId, sent)
    this.body.write(writer)
    writer.end(this.body.count)
  }

  answer(cursor: AnswerCursor, server: string): boolean {
    const result = this.body.read(cursor, server)
    if (result === undefined) return false
    this.settlers.resolve(result)
    return true
  }

  fail(error: WeirError): void {
    this.settlers.reject(error)
  }

  expire(): void {
    this.onExpire(this)
    this.fail(noAnswerWithin(this.terms.deadlineMs))
  }
}
