import { WeirError } from '../../core/errors.ts'
import { largeBuffers } from '../../core/lifetime/large-buffers.ts'
import { BOOSTS_FOLLOW, KIND, REQUEST_FLAG } from '../../wire/frame.ts'
import type {
  PredictOptions,
  QueryOptions,
  TagRules,
  TopKOptions,
} from '../../wire/model-reader.ts'
import { MAX_FEATURES, type RequestCursor, requireK } from '../../wire/request.ts'
import type { DeferredPredictions } from '../port/query-backend.ts'
import { ReplyLease } from '../port/reply-lease.ts'
import type { OwnedQueryOptions } from '../port/request-owner.ts'
import {
  writePredictions,
  writeScan,
  writeSparseProduct,
  writeTopK,
  writeValues,
} from './answers.ts'
import type { AnswerWriter, AsyncRequest, AsyncTerms } from './async-request.ts'
import { decodePacked, isPacked } from './sparse-requests.ts'

/** Most entries of one scan frame; its answer names the key to go on from. */
const MAX_SCAN = 10_000
/** Predictions of a frame that are read one by one at a time. */
const PAIRS_AT_ONCE = 128
const NO_BYTES = new Uint8Array(0)

/**
 * Decodes the cursor's frame, after its preamble, into a request that does not use the frame's bytes.
 * Throws PROTOCOL_ERROR, INVALID_ARGUMENT.
 */
export function decodeAsync(cursor: RequestCursor): AsyncRequest {
  switch (cursor.kind) {
    case KIND.predict:
      return decodePredictions(cursor)
    case KIND.rows:
    case KIND.values:
      return decodeKeys(cursor)
    case KIND.scan:
      return decodeScan(cursor)
    case KIND.sparseDot:
      return isPacked(cursor) ? decodePacked(cursor, optionsOf(cursor)) : decodeSparseDot(cursor)
    default:
      return decodeTopK(cursor)
  }
}

/** The predictions of one frame that the synchronous way deferred. */
export interface DeferredFrame {
  readonly state: string
  readonly deferred: DeferredPredictions
  readonly options: PredictOptions
  readonly withEnvelopes: boolean
}

/** The options in a frame's preamble, without its deadline. */
export function optionsOf(cursor: RequestCursor): QueryOptions {
  return {
    consistency: cursor.consistency,
    ...(cursor.version === 0 ? {} : { version: cursor.version }),
  }
}

/** The options of a PREDICT frame, with its stand-in keys, which begin its body. */
export function predictOptionsOf(cursor: RequestCursor): PredictOptions {
  const { flags } = cursor
  return {
    ...optionsOf(cursor),
    ...((flags & REQUEST_FLAG.coldLeft) === 0 ? {} : { coldLeft: cursor.text() }),
    ...((flags & REQUEST_FLAG.coldRight) === 0 ? {} : { coldRight: cursor.text() }),
  }
}

/** The options of a part of a request. */
export function within<O extends QueryOptions>(
  options: O,
  { deadlineMs, owner }: AsyncTerms,
): O & OwnedQueryOptions {
  return { ...options, deadlineMs, owner }
}

/** Predictions that the synchronous way deferred. */
export function deferredRequest({
  state,
  deferred,
  options,
  withEnvelopes,
}: DeferredFrame): AsyncRequest {
  return {
    count: deferred.spans.length / 4,
    async run(terms, from, most) {
      const { bytes, spans } = deferred
      const part = { bytes, spans: spans.slice(4 * from, 4 * (from + most)) }
      const { backend } = terms
      const answers = await backend.predictDeferred(state, part, within(options, terms))
      return {
        count: answers.length,
        write: (target) => writePredictions(target, answers, withEnvelopes),
      }
    },
  }
}

function decodePredictions(cursor: RequestCursor): AsyncRequest {
  const { state, flags, count } = cursor
  const options = predictOptionsOf(cursor)
  const keys = new FrameKeys(cursor)
  const withEnvelopes = (flags & REQUEST_FLAG.envelope) !== 0
  return {
    count,
    mostAtOnce: PAIRS_AT_ONCE,
    async run(terms, from, most) {
      const spans = keys.next(2 * most)
      if (from + most === count) keys.finish()
      const part = { bytes: keys.bytes, spans }
      const answers = await terms.backend.predictDeferred(state, part, within(options, terms))
      return {
        count: answers.length,
        write: (target) => writePredictions(target, answers, withEnvelopes),
      }
    },
    release: () => keys.release(),
  }
}

/**
 * Keys at the end of a frame. Their bytes are copied, and their places are looked for part by part: those of
 * all keys of a large frame at once would hold up the other connections.
 */
class FrameKeys {
  readonly bytes: Uint8Array
  private buffer: Uint8Array<ArrayBuffer>
  private at = 0

  constructor(cursor: RequestCursor) {
    const length = cursor.end - cursor.at
    this.buffer = largeBuffers.take(length)
    this.buffer.set(cursor.bytes.subarray(cursor.at, cursor.end))
    this.bytes = this.buffer.subarray(0, length)
    cursor.at = cursor.end
  }

  /** Gives the bytes back; no one may read them any more. Idempotent. */
  release(): void {
    largeBuffers.give(this.buffer)
    this.buffer = NO_BYTES
  }

  /** Start and length of each of the next keys. Throws PROTOCOL_ERROR when the frame has fewer. */
  next(count: number): number[] {
    const { bytes } = this
    const spans: number[] = []
    for (let i = 0; i < count; i++) {
      const from = this.at + 2
      const length = from > bytes.length ? 0 : bytes[from - 2]! + bytes[from - 1]! * 256
      this.at = from + length
      if (this.at > bytes.length) throw malformed('it has fewer keys than its count')
      spans.push(from, length)
    }
    return spans
  }

  /** Throws PROTOCOL_ERROR unless all bytes belong to keys. */
  finish(): void {
    if (this.at !== this.bytes.length) throw malformed('bytes follow its last key')
  }
}

function malformed(why: string): WeirError {
  return new WeirError('PROTOCOL_ERROR', `a request is malformed: ${why}`)
}

/** Rows or values of keys: all keys of a frame, or those that the synchronous way deferred. */
export function keysRequest(
  kind: number,
  state: string,
  keys: readonly string[],
  options: QueryOptions,
): AsyncRequest {
  return {
    count: keys.length,
    async run(terms, from, most) {
      const { reader } = terms.backend
      const part = keys.slice(from, from + most)
      const lease = new ReplyLease()
      const own = { ...within(options, terms), maxBytes: terms.maxBytes, lease }
      const answers =
        kind === KIND.rows
          ? await reader.rows(state, part, own)
          : await reader.values(state, part, own)
      const write: AnswerWriter = (target) => {
        writeValues(target, answers)
        lease.release()
      }
      return { count: answers.length, write }
    },
  }
}

function decodeKeys(cursor: RequestCursor): AsyncRequest {
  const keys: string[] = []
  for (let i = 0; i < cursor.count; i++) keys.push(cursor.text())
  cursor.finish()
  return keysRequest(cursor.kind, cursor.state, keys, optionsOf(cursor))
}

function decodeScan(cursor: RequestCursor): AsyncRequest {
  requireSingle(cursor)
  const { state } = cursor
  const options = optionsOf(cursor)
  const limit = cursor.uint32()
  const from = cursor.text()
  const to = cursor.text()
  const ofOne = (cursor.flags & REQUEST_FLAG.partition) !== 0
  const partition = ofOne ? { partition: cursor.uint32() } : {}
  cursor.finish()
  const capped = Math.min(limit, MAX_SCAN)
  return {
    count: 1,
    async run(terms) {
      const range = { from, to, limit: capped, ...partition }
      const lease = new ReplyLease()
      const page = await terms.backend.scanPage(state, range, { ...within(options, terms), lease })
      if (page.count === capped && capped === limit) page.resume = undefined
      const write: AnswerWriter = (target) => {
        writeScan(target, page)
        lease.release()
      }
      return { count: 1, write }
    },
  }
}

function decodeSparseDot(cursor: RequestCursor): AsyncRequest {
  requireSingle(cursor)
  const { state } = cursor
  const options = optionsOf(cursor)
  const features = cursor.uint32()
  if (features > MAX_FEATURES || features * 8 !== cursor.remaining) {
    throw new WeirError(
      'PROTOCOL_ERROR',
      `a sparse product of ${features} features does not fit its frame`,
    )
  }
  const ids = cursor.uint32s(features)
  const values = cursor.float32s(features)
  requireFinite(values, 'a value of the sparse vector')
  return {
    count: 1,
    async run(terms) {
      const { reader } = terms.backend
      const answer = await reader.sparseDot(state, { ids, values }, within(options, terms))
      return { count: 1, write: (target) => writeSparseProduct(target, answer) }
    },
  }
}

function decodeTopK(cursor: RequestCursor): AsyncRequest {
  requireSingle(cursor)
  const { state, flags } = cursor
  const base = optionsOf(cursor)
  const cold = (flags & REQUEST_FLAG.coldLeft) === 0 ? undefined : cursor.text()
  const normColumns = (flags & REQUEST_FLAG.norm) === 0 ? undefined : cursor.uint32()
  const k = cursor.uint16()
  requireK(k)
  const suffix = cursor.text()
  const exclude = textsOf(cursor)
  const where = (flags & REQUEST_FLAG.where) === 0 ? undefined : rulesOf(cursor)
  const among = (flags & REQUEST_FLAG.among) === 0 ? undefined : textsOf(cursor)
  const query = (flags & REQUEST_FLAG.vector) === 0 ? cursor.text() : vectorOf(cursor)
  cursor.finish()
  const options: TopKOptions = {
    ...base,
    k,
    suffix,
    exclude,
    ...(where === undefined ? {} : { where }),
    ...(among === undefined ? {} : { among }),
    ...(cold === undefined ? {} : { cold }),
    ...(normColumns === undefined ? {} : { normColumns }),
  }
  return {
    count: 1,
    async run(terms) {
      const answer = await terms.backend.topKRanked(state, query, within(options, terms))
      const write: AnswerWriter = (target) => {
        writeTopK(target, answer)
        if (answer.ok) answer.value.release()
      }
      return { count: 1, write }
    },
  }
}

function rulesOf(cursor: RequestCursor): TagRules {
  const first = cursor.uint16()
  const anyOf = textsOf(cursor, first & ~BOOSTS_FOLLOW)
  const noneOf = textsOf(cursor)
  if ((first & BOOSTS_FOLLOW) === 0) return { anyOf, noneOf }
  const boosts = Array.from({ length: cursor.uint16() }, () => [cursor.text(), cursor.float64()])
  return { anyOf, noneOf, boost: Object.fromEntries(boosts) as Record<string, number> }
}

function textsOf(cursor: RequestCursor, length: number = cursor.uint16()): string[] {
  return Array.from({ length }, () => cursor.text())
}

function vectorOf(cursor: RequestCursor): Float32Array {
  const dimension = cursor.uint32()
  if (dimension * 4 !== cursor.remaining) {
    throw new WeirError('PROTOCOL_ERROR', `a vector of ${dimension} floats does not fit its frame`)
  }
  const vector = cursor.float32s(dimension)
  requireFinite(vector, 'a float of the query vector')
  return vector
}

function requireFinite(floats: Float32Array, what: string): void {
  const at = floats.findIndex((float) => !Number.isFinite(float))
  if (at < 0) return
  throw new WeirError(
    'INVALID_ARGUMENT',
    `${what} is ${floats[at]} (number ${at}); send finite floats`,
  )
}

function requireSingle(cursor: RequestCursor): void {
  if (cursor.count === 1) return
  throw new WeirError(
    'PROTOCOL_ERROR',
    `a frame of this kind holds one request, not ${cursor.count}`,
  )
}
