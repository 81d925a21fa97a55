import {
  asWeirError,
  ERROR_CODES,
  type ErrorCode,
  type ErrorDetails,
  WeirError,
} from '../core/errors.ts'
import { partitionOfPlace, sourceOfPlace } from '../core/position.ts'
import { shortAscii } from '../core/text/short-text.ts'
import { type FrameReader, HEADER_BYTES } from './frame.ts'
import type { FrameWriter } from './frame-writer.ts'
import { decodeGeneral, encodeGeneral, type GeneralMap, textField } from './general-envelope.ts'
import {
  readFloat32,
  readFloat64,
  readInt32,
  readInt53,
  readUint16,
  readUint32,
} from './little-endian.ts'
import type { AnswerEnvelope } from './model-reader.ts'
import { codeOf, OTHER, statusOf } from './status.ts'

/**
 * Every answer frame about a state begins with the envelope of all its answers:
 *
 *   12            16              20              28         36
 *   +-------------+---------------+---------------+----------+---------+
 *   | version u32 | routing epoch | checkpoint id | age ms   | answers |
 *   |             | u32           | i64           | f64      |         |
 *   +-------------+---------------+---------------+----------+---------+
 *
 * One answer is a status byte, a flags byte, and a body that depends on its kind. When the frame's
 * envelope flag is set, 22 bytes follow the flags byte of every answer. In a prediction they follow the
 * score:
 *
 *   +----------+------------------------+------------+------------+
 *   | slot u16 | place i32 (`placeOf`): | offset i64 | age ms f64 |
 *   |          | source and partition   |            |            |
 *   +----------+------------------------+------------+------------+
 */

/** First byte of the first answer. */
export const ANSWERS_AT = 36
/** Bytes of a prediction's answer without its own envelope. */
export const SCORE_BYTES = 6
/** Bytes of an answer's own envelope. */
export const ITEM_ENVELOPE_BYTES = 22
/** Slot number of an answer that is not from a slot. */
export const NO_SLOT = 0xffff

/** Envelope shared by all answers of a frame. */
export interface FrameEnvelope {
  modelVersion: number
  routingEpoch: number
  checkpointId: number
  /** Upper bound over the answers, -1 when unknown. */
  ageMs: number
}

/** Envelope of one answer. */
export interface ItemEnvelope {
  slot: number
  /** Source and partition as `placeOf` makes them. */
  partition: number
  offset: number
  ageMs: number
}

/** Begins an answer frame about a state. */
export function beginAnswer(
  writer: FrameWriter,
  kind: number,
  flags: number,
  requestId: number,
  envelope: FrameEnvelope,
): void {
  writer.begin(kind, flags, requestId)
  writer.uint32(envelope.modelVersion)
  writer.uint32(envelope.routingEpoch)
  writer.int64(envelope.checkpointId)
  writer.float64(envelope.ageMs)
}

/** Appends an answer's own envelope. */
export function writeItemEnvelope(writer: FrameWriter, item: ItemEnvelope): void {
  writer.uint16(item.slot)
  writer.int32(item.partition)
  writer.int64(item.offset)
  writer.float64(item.ageMs)
}

/** The message of a failed answer; messages follow the last answer of a frame. */
export interface AnswerDetail {
  /** Number of the answer in its frame, from 0. */
  readonly index: number
  readonly error: WeirError
}

/** Appends the messages of failed answers; the frame must have the details flag. */
export function writeDetails(writer: FrameWriter, details: readonly AnswerDetail[]): void {
  writer.uint16(details.length)
  for (const { index, error } of details) {
    writer.uint16(index)
    writer.keyBytes(encodeError(error))
  }
}

/** Longest message on the wire, in UTF-16 units; longer ones are cut. */
const MAX_MESSAGE = 2000
/** Most entries of details on the wire. */
const MAX_DETAILS = 16

/** An error as a general envelope: code, message, details. */
function encodeError(error: WeirError): Uint8Array {
  const details: Record<string, string | number | boolean> = {}
  for (const [name, value] of Object.entries(error.details).slice(0, MAX_DETAILS)) {
    details[name] = typeof value === 'string' ? value.slice(0, MAX_MESSAGE) : value
  }
  return encodeGeneral({ code: error.code, message: error.message.slice(0, MAX_MESSAGE), details })
}

/** Reads an error. A code that this build does not know becomes PROTOCOL_ERROR with its name. */
function decodeError(bytes: Uint8Array, start: number, end: number): WeirError {
  const envelope = decodeGeneral(bytes, start, end)
  const code = textField(envelope, 'code')
  const message = textField(envelope, 'message')
  const details = detailsOf(envelope)
  if (Object.hasOwn(ERROR_CODES, code))
    return new WeirError(code as ErrorCode, message, { details })
  return new WeirError('PROTOCOL_ERROR', `the server answered ${code}: ${message}`, { details })
}

function detailsOf(envelope: GeneralMap): ErrorDetails {
  const details: Record<string, string | number | boolean> = {}
  const given = envelope['details']
  if (given === null || typeof given !== 'object' || Array.isArray(given)) return details
  for (const [name, value] of Object.entries(given)) {
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
      details[name] = value
    }
  }
  return details
}

/** Appends an error frame; after one with request id 0 the server closes the connection. */
export function writeErrorFrame(
  writer: FrameWriter,
  kind: number,
  requestId: number,
  error: WeirError,
): void {
  writer.begin(kind, 0, requestId)
  writer.uint8(statusOf(error.code))
  writer.raw(encodeError(error))
  writer.end(1)
}

/** The error of an error frame. */
export function readErrorFrame(frame: FrameReader): WeirError {
  return decodeError(frame.bytes, frame.start + HEADER_BYTES + 1, frame.end)
}

/** The error of a status without a message; `subject` names what was asked. */
export function errorOfStatus(status: number, subject: string): WeirError {
  const code = codeOf(status)
  if (code === undefined) {
    return new WeirError('PROTOCOL_ERROR', `the server answered ${subject} with status ${status}`)
  }
  return new WeirError(code, `${subject}: ${ERROR_CODES[code].meaning}`)
}

/** Whether the status alone describes the error, so that no message is sent. */
export function isPlainError(error: WeirError): boolean {
  return statusOf(error.code) !== OTHER && Object.keys(error.details).length === 0
}

/** The error of an answer for anything that was thrown while the answer was made. */
export function answerErrorOf(thrown: unknown): WeirError {
  return asWeirError(thrown, 'ILLEGAL_STATE', 'the server failed unexpectedly')
}

/** Reads an answer frame in place; one cursor serves a connection. */
export class AnswerCursor implements FrameEnvelope, ItemEnvelope {
  bytes: Uint8Array = new Uint8Array(0)
  /** Next byte to read. */
  at = 0
  end = 0
  flags = 0
  count = 0
  modelVersion = 0
  routingEpoch = 0
  checkpointId = 0
  ageMs = -1
  slot = NO_SLOT
  partition = -1
  offset = 0
  /** Age of the answer whose envelope was read. */
  itemAgeMs = -1

  /** Opens the reader's current frame and reads its envelope. Throws PROTOCOL_ERROR. */
  open(frame: FrameReader): void {
    this.bytes = frame.bytes
    this.end = frame.end
    this.flags = frame.flags
    this.count = frame.count
    this.at = frame.start + HEADER_BYTES
    const at = this.take(ANSWERS_AT - HEADER_BYTES)
    this.modelVersion = readUint32(this.bytes, at)
    this.routingEpoch = readUint32(this.bytes, at + 4)
    this.checkpointId = readInt53(this.bytes, at + 8)
    this.ageMs = readFloat64(this.bytes, at + 16)
    this.slot = NO_SLOT
    this.partition = -1
    this.offset = 0
    this.itemAgeMs = this.ageMs
  }

  /** Moves over `count` bytes and returns where they start. Throws PROTOCOL_ERROR. */
  take(count: number): number {
    const at = this.at
    if (count > this.end - at) {
      throw new WeirError('PROTOCOL_ERROR', 'an answer ends before its last field')
    }
    this.at = at + count
    return at
  }

  /** Reads an answer's own envelope into slot, partition, offset and itemAgeMs. */
  itemEnvelope(): void {
    const at = this.take(ITEM_ENVELOPE_BYTES)
    this.slot = readUint16(this.bytes, at)
    this.partition = readInt32(this.bytes, at + 2)
    this.offset = readInt53(this.bytes, at + 6)
    this.itemAgeMs = readFloat64(this.bytes, at + 14)
  }

  /** The envelope that `itemEnvelope` read. */
  envelope(server: string): AnswerEnvelope {
    return {
      modelVersion: this.modelVersion,
      source: sourceOfPlace(this.partition),
      partition: partitionOfPlace(this.partition),
      offset: this.offset,
      checkpointId: this.checkpointId,
      ageMs: this.itemAgeMs,
      servedBy: `${server}/${this.slot === NO_SLOT ? '-' : this.slot}`,
    }
  }

  uint8(): number {
    return this.bytes[this.take(1)]!
  }

  uint16(): number {
    return readUint16(this.bytes, this.take(2))
  }

  uint32(): number {
    return readUint32(this.bytes, this.take(4))
  }

  float32(): number {
    return readFloat32(this.bytes, this.take(4))
  }

  float64(): number {
    return readFloat64(this.bytes, this.take(8))
  }

  /** A copy of the next `count` bytes. */
  copy(count: number): Uint8Array {
    const at = this.take(count)
    return this.bytes.slice(at, at + count)
  }

  /** Text after its length as uint16. */
  text(): string {
    const length = this.uint16()
    const at = this.take(length)
    const { bytes } = this
    return shortAscii(bytes, at, at + length) ?? decoder.decode(bytes.subarray(at, at + length))
  }

  /** Messages of failed answers by the answer's number; the frame must have the details flag. */
  details(): Map<number, WeirError> {
    const errors = new Map<number, WeirError>()
    const count = this.uint16()
    for (let i = 0; i < count; i++) {
      const index = this.uint16()
      const length = this.uint16()
      const at = this.take(length)
      errors.set(index, decodeError(this.bytes, at, at + length))
    }
    return errors
  }
}

const decoder = new TextDecoder()
