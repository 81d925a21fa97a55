import { WeirError } from '../core/errors.ts'
import { KIND, REQUEST_FLAG } from '../wire/frame.ts'
import type {
  Answer,
  ModelReader,
  Prediction,
  PredictOptions,
  QueryOptions,
  TopKOptions,
} from '../wire/model-reader.ts'
import { MAX_FEATURES, MAX_K, type RequestCursor } from '../wire/request.ts'
import {
  type AnswerTarget,
  writePredictions,
  writeScan,
  writeSparseProduct,
  writeTopK,
  writeValues,
} from './query-answers.ts'
import type { DeferredPredictions, QueryBackend } from './query-backend.ts'
import { decodePacked, isPacked } from './query-sparse-requests.ts'

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Most entries of one scan frame; the client goes on from the key it is told. */
const MAX_SCAN = 10_000

/** Reads the answer to a request later, into the target it is given. */
export type AnswerWriter = (target: AnswerTarget) => void

/** A decoded request that waits: how many requests it counts for, and its work. */
export interface AsyncRequest {
  readonly count: number
  run(reader: ModelReader): Promise<AnswerWriter>
}

/**
 * Decodes the frame the cursor stands on (its preamble was read) into a request that owns its
 * bytes. Throws PROTOCOL_ERROR, INVALID_ARGUMENT.
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

/** The options that a frame's preamble says. */
export function optionsOf(cursor: RequestCursor): QueryOptions {
  return {
    consistency: cursor.consistency,
    ...(cursor.version === 0 ? {} : { version: cursor.version }),
    ...(cursor.deadlineMs === 0 ? {} : { deadlineMs: cursor.deadlineMs }),
  }
}

/** Predictions that the synchronous way deferred. */
export function deferredRequest(
  backend: QueryBackend,
  state: string,
  deferred: DeferredPredictions,
  options: PredictOptions,
  withEnvelopes: boolean,
): AsyncRequest {
  const count = deferred.spans.length / 4
  if (backend.predictDeferred === undefined) {
    const lefts: string[] = []
    const rights: string[] = []
    for (let pair = 0; pair < count; pair++) {
      lefts.push(deferredKey(deferred, 2 * pair))
      rights.push(deferredKey(deferred, 2 * pair + 1))
    }
    return predictionRequest(state, lefts, rights, options, withEnvelopes)
  }
  return {
    count,
    async run() {
      const answers = await backend.predictDeferred!(state, deferred, options)
      return (target) => writePredictions(target, answers, withEnvelopes)
    },
  }
}

/** The text of the `n`-th key, left and right ones counted. Throws PROTOCOL_ERROR. */
export function deferredKey({ bytes, spans }: DeferredPredictions, n: number): string {
  const at = spans[2 * n]!
  try {
    return decoder.decode(bytes.subarray(at, at + spans[2 * n + 1]!))
  } catch (cause) {
    throw new WeirError('PROTOCOL_ERROR', 'a request is malformed: a key is not UTF-8', { cause })
  }
}

/** All predictions of a frame. */
function predictionRequest(
  state: string,
  lefts: readonly string[],
  rights: readonly string[],
  options: PredictOptions,
  withEnvelopes: boolean,
): AsyncRequest {
  return {
    count: lefts.length,
    async run(reader) {
      const answers: Answer<Prediction>[] = await Promise.all(
        lefts.map((left, i) => reader.predictWithEnvelope(state, left, rights[i]!, options)),
      )
      return (target) => writePredictions(target, answers, withEnvelopes)
    },
  }
}

function decodePredictions(cursor: RequestCursor): AsyncRequest {
  const { state, flags } = cursor
  const options: PredictOptions = {
    ...optionsOf(cursor),
    ...((flags & REQUEST_FLAG.coldLeft) === 0 ? {} : { coldLeft: cursor.text() }),
    ...((flags & REQUEST_FLAG.coldRight) === 0 ? {} : { coldRight: cursor.text() }),
  }
  const lefts: string[] = []
  const rights: string[] = []
  for (let i = 0; i < cursor.count; i++) {
    lefts.push(cursor.text())
    rights.push(cursor.text())
  }
  cursor.finish()
  const withEnvelopes = (flags & REQUEST_FLAG.envelope) !== 0
  return predictionRequest(state, lefts, rights, options, withEnvelopes)
}

/** Rows that the synchronous way deferred, or keys of a frame. */
export function keysRequest(
  kind: number,
  state: string,
  keys: readonly string[],
  options: QueryOptions,
): AsyncRequest {
  return {
    count: keys.length,
    async run(reader) {
      const answers =
        kind === KIND.rows
          ? await reader.rows(state, keys, options)
          : await reader.values(state, keys, options)
      return (target) => writeValues(target, answers)
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
  cursor.finish()
  const capped = Math.min(limit, MAX_SCAN)
  return {
    count: 1,
    async run(reader) {
      const entries = await reader.scan(state, { from, to, limit: capped }, options)
      const more = entries.length === capped && capped < limit
      // The zero byte makes the smallest key above the last one.
      const resume = more ? `${entries[entries.length - 1]!.key}\0` : undefined
      return (target) => writeScan(target, entries, resume)
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
  return {
    count: 1,
    async run(reader) {
      const answer = await reader.sparseDot(state, { ids, values }, options)
      return (target) => writeSparseProduct(target, answer)
    },
  }
}

function decodeTopK(cursor: RequestCursor): AsyncRequest {
  requireSingle(cursor)
  const { state, flags } = cursor
  const base = optionsOf(cursor)
  const cold = (flags & REQUEST_FLAG.coldLeft) === 0 ? undefined : cursor.text()
  const k = cursor.uint16()
  if (k < 1 || k > MAX_K) {
    throw new WeirError('INVALID_ARGUMENT', `k must be from 1 to ${MAX_K}, not ${k}`)
  }
  const suffix = cursor.text()
  const excluded = cursor.uint16()
  const exclude: string[] = []
  for (let i = 0; i < excluded; i++) exclude.push(cursor.text())
  const query = (flags & REQUEST_FLAG.vector) === 0 ? cursor.text() : vectorOf(cursor)
  cursor.finish()
  const options: TopKOptions = {
    ...base,
    k,
    suffix,
    exclude,
    ...(cold === undefined ? {} : { cold }),
  }
  return {
    count: 1,
    async run(reader) {
      const answer = await reader.topK(state, query, options)
      return (target) => writeTopK(target, answer)
    },
  }
}

function vectorOf(cursor: RequestCursor): Float32Array {
  const dimension = cursor.uint32()
  if (dimension * 4 !== cursor.remaining) {
    throw new WeirError('PROTOCOL_ERROR', `a vector of ${dimension} floats does not fit its frame`)
  }
  return cursor.float32s(dimension)
}

function requireSingle(cursor: RequestCursor): void {
  if (cursor.count === 1) return
  throw new WeirError(
    'PROTOCOL_ERROR',
    `a frame of this kind holds one request, not ${cursor.count}`,
  )
}
