import { WeirError } from '../core/errors.ts'
import {
  ANSWER,
  type FrameReader,
  HEADER_BYTES,
  KIND,
  MAGIC,
  MAX_FRAME_BYTES,
  MIN_FRAME_BYTES,
  PROTOCOL_VERSION,
} from './frame.ts'
import type { FrameWriter } from './frame-writer.ts'
import { decodeGeneral, encodeGeneral, numberField, textField } from './general-envelope.ts'
import { readUint32 } from './little-endian.ts'

/**
 * The first frame of a connection and its answer.
 *
 *   hello   12        16        17        18     20                24
 *           +---------+---------+---------+------+-----------------+-------------------------+
 *           | "WEIR"  | lowest  | highest | 0, 0 | largest answer  | envelope {token?, job?, |
 *           |         | version | version |      | frame u32       | client?}                |
 *           +---------+---------+---------+------+-----------------+-------------------------+
 *
 *   answer  12        16        17         20                24                28
 *           +---------+---------+----------+-----------------+-----------------+---------------------+
 *           | "WEIR"  | version | 0, 0, 0  | largest request | routing epoch   | envelope {server,   |
 *           |         |         |          | frame u32       | u32             | job, idleTimeoutMs, |
 *           |         |         |          |                 |                 | maxOutstanding,     |
 *           |         |         |          |                 |                 | traces?}            |
 *           +---------+---------+----------+-----------------+-----------------+---------------------+
 */

/** First frame of a client. */
export interface Hello {
  readonly minVersion: number
  readonly maxVersion: number
  /** Largest frame the client accepts. */
  readonly maxFrameBytes: number
  readonly token: string
  /** Job that the client wants; any when empty. */
  readonly job: string
  /** Name of the client, for logs. */
  readonly client: string
}

/** Answer of a server to the hello. */
export interface Welcome {
  readonly version: number
  /** Largest frame the server accepts. */
  readonly maxFrameBytes: number
  readonly routingEpoch: number
  /** Name of the query server; answers are served by `<server>/<slot>`. */
  readonly server: string
  readonly job: string
  /** The server closes a connection that sends nothing for this long. */
  readonly idleTimeoutMs: number
  /** Requests of a connection that may wait for their answers at the server. */
  readonly maxOutstanding: number
  /** Whether the server records spans: only then it takes TRACE frames. */
  readonly traces?: boolean
}

/** Largest hello that is accepted; the peer is not authenticated yet. */
export const HELLO_LIMIT = 8192

/** Appends a hello frame. */
export function writeHello(writer: FrameWriter, hello: Hello): void {
  writer.begin(KIND.hello, 0, 0)
  writer.uint32(MAGIC)
  writer.uint8(hello.minVersion)
  writer.uint8(hello.maxVersion)
  writer.uint16(0)
  writer.uint32(hello.maxFrameBytes)
  writer.raw(encodeGeneral({ token: hello.token, job: hello.job, client: hello.client }))
  writer.end(1)
}

/** Reads a hello. Throws PROTOCOL_ERROR or UNSUPPORTED_VERSION. */
export function readHello(frame: FrameReader): Hello {
  const at = bodyOf(frame, KIND.hello, 12)
  const minVersion = frame.bytes[at + 4]!
  const maxVersion = frame.bytes[at + 5]!
  if (minVersion > PROTOCOL_VERSION || maxVersion < PROTOCOL_VERSION) {
    throw new WeirError(
      'UNSUPPORTED_VERSION',
      `the client speaks protocol ${minVersion} to ${maxVersion}, this server ${PROTOCOL_VERSION}`,
      { details: { version: PROTOCOL_VERSION } },
    )
  }
  const envelope = decodeGeneral(frame.bytes, at + 12, frame.end)
  return {
    minVersion,
    maxVersion,
    maxFrameBytes: frameLimit(readUint32(frame.bytes, at + 8)),
    token: textField(envelope, 'token'),
    job: textField(envelope, 'job'),
    client: textField(envelope, 'client'),
  }
}

/** Appends the answer to a hello. */
export function writeWelcome(writer: FrameWriter, welcome: Welcome): void {
  writer.begin(KIND.hello + ANSWER, 0, 0)
  writer.uint32(MAGIC)
  writer.uint8(welcome.version)
  writer.uint8(0)
  writer.uint16(0)
  writer.uint32(welcome.maxFrameBytes)
  writer.uint32(welcome.routingEpoch)
  const { server, job, idleTimeoutMs, maxOutstanding, traces } = welcome
  const envelope = { server, job, idleTimeoutMs, maxOutstanding }
  writer.raw(encodeGeneral(traces === true ? { ...envelope, traces } : envelope))
  writer.end(1)
}

/** Reads the answer to a hello. Throws PROTOCOL_ERROR. */
export function readWelcome(frame: FrameReader): Welcome {
  const at = bodyOf(frame, KIND.hello + ANSWER, 16)
  const envelope = decodeGeneral(frame.bytes, at + 16, frame.end)
  return {
    version: frame.bytes[at + 4]!,
    maxFrameBytes: frameLimit(readUint32(frame.bytes, at + 8)),
    routingEpoch: readUint32(frame.bytes, at + 12),
    server: textField(envelope, 'server'),
    job: textField(envelope, 'job'),
    idleTimeoutMs: numberField(envelope, 'idleTimeoutMs'),
    maxOutstanding: numberField(envelope, 'maxOutstanding'),
    ...(envelope['traces'] === true ? { traces: true } : {}),
  }
}

function bodyOf(frame: FrameReader, kind: number, fixedBytes: number): number {
  const at = frame.start + HEADER_BYTES
  const isHello =
    frame.kind === kind && frame.end - at >= fixedBytes && readUint32(frame.bytes, at) === MAGIC
  if (!isHello) {
    throw new WeirError('PROTOCOL_ERROR', 'the first frame is not a hello of the query protocol')
  }
  return at
}

function frameLimit(announced: number): number {
  if (announced < MIN_FRAME_BYTES) {
    throw new WeirError(
      'PROTOCOL_ERROR',
      `a frame limit of ${announced} bytes is below ${MIN_FRAME_BYTES}`,
    )
  }
  if (announced > MAX_FRAME_BYTES) {
    throw new WeirError(
      'PROTOCOL_ERROR',
      `a frame limit of ${announced} bytes is above ${MAX_FRAME_BYTES}`,
    )
  }
  return announced
}
