import { WeirError } from '../core/errors.ts'
import { mergedFeatures } from '../core/feature.ts'
import { readableKey } from '../core/formats/key-text.ts'
import { type AnswerCursor, errorOfStatus } from '../wire/answer.ts'
import { ANSWER_FLAG, BOOSTS_FOLLOW, DEFERRED, KIND, REQUEST_FLAG } from '../wire/frame.ts'
import type { FrameWriter } from '../wire/frame-writer.ts'
import {
  type InferRequest,
  type RawInferResult,
  readInferAnswer,
  writeInferRequest,
} from '../wire/inference/infer.ts'
import {
  decodeModels,
  encodeModelsRequest,
  type ModelInfo,
  type ModelsRequest,
} from '../wire/inference/models.ts'
import type {
  Answer,
  ScanEntry,
  ScoredKey,
  SparseProduct,
  SparseVector,
  TagRules,
  TopKOptions,
} from '../wire/model-reader.ts'
import { withBiasFeature } from '../wire/sparse-vector.ts'
import { OK } from '../wire/status.ts'

/** Body of one kind of request: writes the request and reads its answer. */
export interface RequestBody<T> {
  readonly kind: number
  readonly flags: number
  readonly count: number
  /** Appends what follows the preamble. */
  write(writer: FrameWriter): void
  /** Reads one answer frame; the result when it was the last one. */
  read(cursor: AnswerCursor, server: string): T | undefined
}

/** Keys of one multi-get frame. */
export interface MultiGet<T> {
  /** Frame kind: rows or values. */
  readonly kind: number
  readonly state: string
  readonly keys: readonly string[]
  /** Gets bytes that are not shared. */
  readonly decode: (bytes: Uint8Array) => T
}

/** Rows or encoded values of several keys. */
export function multiGet<T>({ kind, state, keys, decode }: MultiGet<T>): RequestBody<Answer<T>[]> {
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
        const answer = readAnswer(cursor, server, `${state}: ${readableKey(keys[index]!)}`, () =>
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

/** A sparse product, of the constant feature too if `withBias`. */
export function sparseProduct(
  state: string,
  features: SparseVector,
  withBias: boolean,
): RequestBody<Answer<SparseProduct>> {
  const merged = mergedFeatures(features)
  const { ids, values } = withBias ? withBiasFeature(merged) : merged
  return single(
    {
      kind: KIND.sparseDot,
      flags: REQUEST_FLAG.envelope,
      write(writer) {
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
  const rules = options.where === undefined ? undefined : someRules(options.where)
  const flags =
    REQUEST_FLAG.envelope |
    (isVector ? REQUEST_FLAG.vector : 0) |
    (options.cold === undefined ? 0 : REQUEST_FLAG.coldLeft) |
    (options.normColumns === undefined ? 0 : REQUEST_FLAG.norm) |
    (rules === undefined ? 0 : REQUEST_FLAG.where) |
    (options.among === undefined ? 0 : REQUEST_FLAG.among)
  return single(
    {
      kind: KIND.topK,
      flags,
      write(writer) {
        if (options.cold !== undefined) writer.key(options.cold)
        if (options.normColumns !== undefined) writer.uint32(options.normColumns)
        writer.uint16(options.k)
        writer.key(options.suffix ?? '')
        writeKeys(writer, options.exclude)
        if (rules !== undefined) writeRules(writer, rules)
        if (options.among !== undefined) writeKeys(writer, options.among)
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

/** Rules in the form of a frame. */
interface WrittenRules {
  readonly anyOf: readonly string[]
  readonly noneOf: readonly string[]
  readonly boosts: readonly (readonly [tag: string, factor: number])[]
}

/** Undefined for rules that name no tag. */
function someRules({ anyOf = [], noneOf = [], boost = {} }: TagRules): WrittenRules | undefined {
  const boosts = Object.entries(boost)
  return anyOf.length + noneOf.length + boosts.length === 0 ? undefined : { anyOf, noneOf, boosts }
}

function writeRules(writer: FrameWriter, { anyOf, noneOf, boosts }: WrittenRules): void {
  writeKeys(writer, anyOf, boosts.length === 0 ? 0 : BOOSTS_FOLLOW)
  writeKeys(writer, noneOf)
  if (boosts.length === 0) return
  writer.uint16(boosts.length)
  for (const [tag, factor] of boosts) {
    writer.key(tag)
    writer.float64(factor)
  }
}

/** Writes keys after their number, which has a mark in its highest bit. */
function writeKeys(writer: FrameWriter, keys: readonly string[] = [], mark = 0): void {
  writer.uint16(keys.length | mark)
  for (const key of keys) writer.key(key)
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

/** A run of a model. */
export function inferBody(request: InferRequest): RequestBody<RawInferResult> {
  return {
    kind: KIND.infer,
    flags: 0,
    count: 1,
    write: (writer) => writeInferRequest(writer, request),
    read: (cursor) => ({ modelVersion: cursor.modelVersion, ...readInferAnswer(cursor) }),
  }
}

/** The list of models, or a change of one. */
export function modelsBody(request: ModelsRequest): RequestBody<ModelInfo[]> {
  return {
    kind: KIND.models,
    flags: 0,
    count: 1,
    write: (writer) => writer.raw(encodeModelsRequest(request)),
    read: (cursor) => decodeModels(cursor.bytes, cursor.at, cursor.end),
  }
}

/** One page of a scan. */
export interface ScanPage {
  readonly entries: ScanEntry[]
  /** Key to continue from; undefined at the end. */
  readonly next: string | undefined
}

/** Entries with `from <= key < to`, at most `limit`; of one job partition, where a job has them in many processes. */
export function scanRequest(
  from: string,
  to: string,
  limit: number,
  partition?: number,
): RequestBody<ScanPage> {
  return {
    kind: KIND.scan,
    flags: partition === undefined ? 0 : REQUEST_FLAG.partition,
    count: 1,
    write(writer) {
      writer.uint32(limit)
      writer.key(from)
      writer.key(to)
      if (partition !== undefined) writer.uint32(partition)
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
