import type { ByteReader } from '../../../core/byte-reader.ts'
import type { ByteWriter } from '../../../core/byte-writer.ts'
import { WeirError } from '../../../core/errors.ts'

/*
 * Value of a record of an exchange topic, version 1, little-endian. Its key is that of the record for the
 * next operator, and null where that has no key. Its timestamp is the wall clock of the sender: event time
 * may lie outside of what a topic takes.
 *
 *   | 01 | kind: uint8 | sender: uint16 | time: int64 | value of the stream's serializer ... |
 *
 * kind 1: a record; time is its event time, -1 for none
 *      2: the watermark of the sender; time is the watermark, no value
 *      3: the sender is idle: its watermark does not count; time 0, no value
 */
const EXCHANGE_VERSION = 1
const KINDS = ['record', 'watermark', 'idle'] as const
const HEAD_BYTES = 12

/** What a record of an exchange topic is. */
export type ExchangeKind = (typeof KINDS)[number]

/** The head of a record of an exchange topic. */
export interface ExchangeHead {
  readonly kind: ExchangeKind
  /** Job partition that has sent it. */
  readonly sender: number
  /** Event time or watermark, ms. */
  readonly time: number
}

/** Writes the head of a record; the value follows. */
export function writeExchangeHead(head: ExchangeHead, writer: ByteWriter): void {
  writer.uint8(EXCHANGE_VERSION)
  writer.uint8(KINDS.indexOf(head.kind) + 1)
  writer.uint16(head.sender)
  writer.int53(head.time)
}

/** Reads the head of a record; the reader then stands at the value. Throws MALFORMED_DATA, UNSUPPORTED_VERSION. */
export function readExchangeHead(reader: ByteReader): ExchangeHead {
  if (reader.remaining < HEAD_BYTES) throw malformed(`it has ${reader.remaining} bytes`)
  const version = reader.uint8()
  if (version !== EXCHANGE_VERSION) {
    const message = `a record of an exchange topic has version ${version}, this build reads ${EXCHANGE_VERSION}: stop the processes of the newer version, or run that version here`
    throw new WeirError('UNSUPPORTED_VERSION', message)
  }
  const number = reader.uint8()
  const kind = KINDS[number - 1]
  if (kind === undefined) throw malformed(`its kind is ${number}`)
  return { kind, sender: reader.uint16(), time: reader.int53() }
}

function malformed(what: string): WeirError {
  const message = `a record of an exchange topic is not Weir's: ${what}; only the processes of the job may write to that topic`
  return new WeirError('MALFORMED_DATA', message)
}
