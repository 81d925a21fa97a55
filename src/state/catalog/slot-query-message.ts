import { type ErrorCode, WeirError } from '../../core/errors.ts'
import type { SlotQueryAnswer, SlotQueryReply, SlotQueryRequest } from '../port/slot-query.ts'

/*
 * Requests and replies between query threads and slots as they travel between threads. Structured
 * clone takes some microseconds for every byte array, so that all keys of a request, and all answers
 * of a reply, are in one buffer that is transferred. Both ends are threads of one process running one
 * build: no version, no checksum. Numbers are little-endian.
 *
 *   keys, one after the other          answers, one after the other
 *   +------------------+-----------+   +-----------+------------------+--------------------+-----+-------+
 *   | uint32 length    | key bytes |   | uint8 kind| uint32 key bytes | uint32 value bytes | key | value |
 *   +------------------+-----------+   +-----------+------------------+--------------------+-----+-------+
 *
 * `kind` is a place in KINDS; only `found` has value bytes.
 */
const KINDS = ['missing', 'found', 'restoring', 'unknown-state'] as const
const KEY_HEADER = 4
const ANSWER_HEADER = 9

type KeysRequest = Exclude<SlotQueryRequest, { kind: 'scan' }>
type Packed<R> = R extends KeysRequest ? Omit<R, 'keys'> & { readonly packedKeys: Uint8Array } : R

/** A SlotQueryRequest on its way. */
export type SlotQueryRequestMessage = Packed<SlotQueryRequest> & {
  /** Buffers of replies that are read; they are transferred back. */
  readonly spent?: readonly Uint8Array<ArrayBuffer>[]
}

/** Where buffers of replies come from. */
export interface ReplyBuffers {
  /** A buffer of at least `bytes`; what it holds is undefined. */
  take(bytes: number): Uint8Array<ArrayBuffer>
}

const NEW_BUFFERS: ReplyBuffers = { take: (bytes) => new Uint8Array(bytes) }

/** A SlotQueryReply on its way; `packed` is transferred. */
export interface SlotQueryReplyMessage {
  readonly id: number
  readonly packed: Uint8Array<ArrayBuffer>
  readonly resume?: Uint8Array | undefined
  /** The slot could not answer; `packed` is empty. */
  readonly error?: { readonly code: ErrorCode; readonly message: string }
}

/** The requests with these ids need no answer any more. */
export interface SlotQueryCancelMessage {
  readonly kind: 'cancel'
  readonly ids: readonly number[]
}

/** The request as a message. */
export function packSlotQueryRequest(request: SlotQueryRequest): SlotQueryRequestMessage {
  if (request.kind === 'scan') return request
  const { keys, ...rest } = request
  return { ...rest, packedKeys: packKeys(keys) } as SlotQueryRequestMessage
}

/** The request that `packSlotQueryRequest` packed; keys are views. */
export function unpackSlotQueryRequest(message: SlotQueryRequestMessage): SlotQueryRequest {
  if (message.kind === 'scan') return message
  const { packedKeys, spent: _, ...rest } = message
  return { ...rest, keys: unpackKeys(packedKeys) } as SlotQueryRequest
}

function packKeys(keys: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  let size = 0
  for (const key of keys) size += KEY_HEADER + key.length
  const packed = new Uint8Array(size)
  let at = 0
  for (const key of keys) {
    putUint32(packed, at, key.length)
    packed.set(key, at + KEY_HEADER)
    at += KEY_HEADER + key.length
  }
  return packed
}

function unpackKeys(packed: Uint8Array): Uint8Array[] {
  const keys: Uint8Array[] = []
  for (let at = 0; at < packed.length; ) {
    const start = at + KEY_HEADER
    at = start + uint32(packed, at)
    keys.push(packed.subarray(start, at))
  }
  return keys
}

/** The reply as a message in a buffer of its own, which may be longer. */
export function packSlotQueryReply(
  { id, answers, resume }: SlotQueryReply,
  buffers: ReplyBuffers = NEW_BUFFERS,
): SlotQueryReplyMessage {
  let size = 0
  for (const answer of answers) size += ANSWER_HEADER + answer.key.length + valueBytes(answer)
  const packed = buffers.take(size).subarray(0, size)
  let at = 0
  for (const answer of answers) {
    const { key, kind } = answer
    packed[at] = KINDS.indexOf(kind)
    putUint32(packed, at + 1, key.length)
    putUint32(packed, at + 5, valueBytes(answer))
    at += ANSWER_HEADER
    packed.set(key, at)
    at += key.length
    if (answer.kind !== 'found') continue
    packed.set(answer.value, at)
    at += answer.value.length
  }
  return resume === undefined ? { id, packed } : { id, packed, resume }
}

/** The message of a request that the slot cannot answer. */
export function failedSlotQuery(id: number, { code, message }: WeirError): SlotQueryReplyMessage {
  return { id, packed: new Uint8Array(0), error: { code, message } }
}

/**
 * The reply that `packSlotQueryReply` packed; keys and values are views. Throws the error of
 * `failedSlotQuery`.
 */
export function unpackSlotQueryReply(reply: SlotQueryReplyMessage): SlotQueryReply {
  const { id, packed, resume, error } = reply
  if (error !== undefined) throw new WeirError(error.code, error.message)
  const answers: SlotQueryAnswer[] = []
  const next = new PackedAnswers(packed)
  while (next.advance()) {
    const { kind, keyAt, valueAt, end } = next
    const key = packed.subarray(keyAt, valueAt)
    answers.push(
      kind === 'found' ? { kind, key, value: packed.subarray(valueAt, end) } : { kind, key },
    )
  }
  return { id, answers, resume }
}

/**
 * The answers of a packed reply, one after the other, without an object for any: a page of a scan has
 * hundreds.
 */
export class PackedAnswers {
  readonly bytes: Uint8Array
  /** Of the present answer, as `keyAt`, `valueAt` and `end`. */
  kind: SlotQueryAnswer['kind'] = 'missing'
  /** First byte of its key. */
  keyAt = 0
  /** First byte after its key, where its value begins. */
  valueAt = 0
  /** First byte after the answer. */
  end = 0

  constructor(packed: Uint8Array) {
    this.bytes = packed
  }

  /** Moves to the next answer, at first to the first one; false when there is none. */
  advance(): boolean {
    const { bytes, end } = this
    if (end >= bytes.length) return false
    this.kind = KINDS[bytes[end]!]!
    this.keyAt = end + ANSWER_HEADER
    this.valueAt = this.keyAt + uint32(bytes, end + 1)
    this.end = this.valueAt + uint32(bytes, end + 5)
    return true
  }
}

function valueBytes(answer: SlotQueryAnswer): number {
  return answer.kind === 'found' ? answer.value.length : 0
}

function putUint32(target: Uint8Array, at: number, value: number): void {
  target[at] = value
  target[at + 1] = value >>> 8
  target[at + 2] = value >>> 16
  target[at + 3] = value >>> 24
}

function uint32(source: Uint8Array, at: number): number {
  return (
    (source[at]! | (source[at + 1]! << 8) | (source[at + 2]! << 16) | (source[at + 3]! << 24)) >>> 0
  )
}
