import { WeirError } from '../core/errors.ts'
import { type AnswerCursor, errorOfStatus } from '../wire/answer.ts'
import type { DeadlineEntry } from '../wire/deadline-wheel.ts'
import { ANSWER_FLAG, DEFERRED, KIND, REQUEST_FLAG } from '../wire/frame.ts'
import type { FrameWriter } from '../wire/frame-writer.ts'
import type {
  Answer,
  Consistency,
  ScanEntry,
  ScoredKey,
  SparseProduct,
  SparseVector,
  TopKOptions,
} from '../wire/model-reader.ts'
import { beginRequest } from '../wire/request.ts'
import { OK } from '../wire/status.ts'
import { type InFlight, noAnswerWithin } from './in-flight.ts'

/** What every request but a prediction says about how it is to be answered. */
export interface RequestTerms {
  readonly state: string
  readonly version: number
  readonly consistency: Consistency
  /** Milliseconds left. */
  readonly deadlineMs: number
}

/** How one kind of request is written and its answer read. */
export interface RequestBody<T> {
  readonly kind: number
  readonly flags: number
  readonly count: number
  /** Appends what follows the preamble. */
  write(writer: FrameWriter): void
  /** Reads one answer frame; the result when it was the last one. */
  read(cursor: AnswerCursor, server: string): T | undefined
}

/**
 * How much longer than its deadline a request waits for the server, which says at the deadline why it
 * could not answer.
 */
const GRACE_MS = 25

/** A request frame of a kind that is not predicted in batches, and the promise of its answer. */
export class ColdRequest<T> implements InFlight {
  requestId = 0
  deadlineAt = 0
  previousEntry: DeadlineEntry | undefined = undefined
  nextEntry: DeadlineEntry | undefined = undefined
  readonly calls: number
  readonly promise: Promise<T>
  private readonly body: RequestBody<T>
  private readonly terms: RequestTerms
  private readonly settlers = Promise.withResolvers<T>()
  private readonly onExpire: (request: InFlight) => void

  constructor(
    terms: RequestTerms,
    body: RequestBody<T>,
    now: number,
    onExpire: (request: InFlight) => void,
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
    beginRequest(writer, this.body.kind, this.body.flags, this.requestId, this.terms)
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

/** Rows or encoded values of several keys; `decode` gets bytes of its own. */
export function multiGet<T>(
  kind: number,
  state: string,
  keys: readonly string[],
  decode: (bytes: Uint8Array) => T,
): RequestBody<Answer<T>[]> {
  const answers: Answer<T>[] = new Array(keys.length)
  const open = keys.map((_, index) => index)
  return {
    kind,
    flags: REQUEST_FLAG.envelope,
    count: keys.length,
    write(writer) {
      for (const key of keys) writer.key(key)
    },
    read(cursor, server) {
      const covered: number[] = []
      for (let i = 0; i < cursor.count; i++) {
        const index = takeOpen(open)
        covered.push(index)
        const answer = readAnswer(cursor, server, `${state}: ${keys[index]}`, () =>
          decode(cursor.copy(cursor.uint32())),
        )
        if (answer === undefined) open.push(index)
        else answers[index] = answer
      }
      addDetails(cursor, (at, error) => {
        answers[covered[at]!] = { ok: false, error }
      })
      return open.length === 0 ? answers : undefined
    },
  }
}

function takeOpen(open: number[]): number {
  const index = open.shift()
  if (index === undefined) {
    throw new WeirError('PROTOCOL_ERROR', 'the server answered more keys than were asked')
  }
  return index
}

/** Reads one answer; undefined when it is deferred. */
function readAnswer<T>(
  cursor: AnswerCursor,
  server: string,
  subject: string,
  readValue: () => T,
): Answer<T> | undefined {
  const status = cursor.uint8()
  cursor.uint8()
  if (status === DEFERRED) return undefined
  if (status !== OK) return { ok: false, error: errorOfStatus(status, subject) }
  if ((cursor.flags & ANSWER_FLAG.envelope) !== 0) cursor.itemEnvelope()
  const value = readValue()
  return { ok: true, value, envelope: cursor.envelope(server) }
}

function addDetails(cursor: AnswerCursor, set: (at: number, error: WeirError) => void): void {
  if ((cursor.flags & ANSWER_FLAG.details) === 0) return
  for (const [at, error] of cursor.details()) set(at, error)
}

function single<T>(
  body: Omit<RequestBody<Answer<T>>, 'count' | 'read'>,
  subject: string,
  readValue: (cursor: AnswerCursor) => T,
): RequestBody<Answer<T>> {
  return {
    ...body,
    count: 1,
    read(cursor, server) {
      let answer = readAnswer(cursor, server, subject, () => readValue(cursor))
      addDetails(cursor, (_at, error) => {
        answer = { ok: false, error }
      })
      return answer
    },
  }
}

/** A partial sparse product. */
export function sparseProduct(
  state: string,
  features: SparseVector,
): RequestBody<Answer<SparseProduct>> {
  return single(
    {
      kind: KIND.sparseDot,
      flags: REQUEST_FLAG.envelope,
      write(writer) {
        const { ids, values } = features
        writer.uint32(ids.length)
        writer.raw(new Uint8Array(ids.buffer, ids.byteOffset, ids.byteLength))
        writer.floats(values)
      },
    },
    state,
    (cursor) => ({ sum: cursor.float64(), unknown: cursor.uint32() }),
  )
}

/** The k best rows for a row or a vector. */
export function topKRequest(
  state: string,
  query: string | Float32Array,
  options: TopKOptions,
): RequestBody<Answer<ScoredKey[]>> {
  const isVector = typeof query !== 'string'
  const flags =
    REQUEST_FLAG.envelope |
    (isVector ? REQUEST_FLAG.vector : 0) |
    (options.cold === undefined ? 0 : REQUEST_FLAG.coldLeft)
  return single(
    {
      kind: KIND.topK,
      flags,
      write(writer) {
        if (options.cold !== undefined) writer.key(options.cold)
        writer.uint16(options.k)
        writer.key(options.suffix ?? '')
        const exclude = options.exclude ?? []
        writer.uint16(exclude.length)
        for (const key of exclude) writer.key(key)
        if (typeof query === 'string') writer.key(query)
        else {
          writer.uint32(query.length)
          writer.floats(query)
        }
      },
    },
    isVector ? state : `${state}: ${query}`,
    readScored,
  )
}

function readScored(cursor: AnswerCursor): ScoredKey[] {
  const results: ScoredKey[] = []
  const count = cursor.uint16()
  for (let i = 0; i < count; i++) {
    const score = cursor.float32()
    results.push({ key: cursor.text(), score })
  }
  return results
}

/** One page of a scan. */
export interface ScanPage {
  readonly entries: ScanEntry[]
  /** Key to go on from; undefined at the end. */
  readonly next: string | undefined
}

/** Entries with `from <= key < to`, at most `limit`. */
export function scanRequest(from: string, to: string, limit: number): RequestBody<ScanPage> {
  return {
    kind: KIND.scan,
    flags: 0,
    count: 1,
    write(writer) {
      writer.uint32(limit)
      writer.key(from)
      writer.key(to)
    },
    read(cursor) {
      const entries: ScanEntry[] = []
      for (let i = 0; i < cursor.count; i++) {
        const key = cursor.text()
        entries.push({ key, value: cursor.copy(cursor.uint32()) })
      }
      const next = (cursor.flags & ANSWER_FLAG.more) === 0 ? undefined : cursor.text()
      return { entries, next }
    },
  }
}
