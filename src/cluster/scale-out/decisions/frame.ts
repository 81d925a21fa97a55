import { ByteReader } from '../../../core/byte-reader.ts'
import { ByteWriter } from '../../../core/byte-writer.ts'
import { WeirError } from '../../../core/errors.ts'
import { crc32c } from '../../../core/hash/crc32c.ts'

/*
 * Frame around everything that processes say to each other in the group: what a member says of itself
 * and what the leader gives. Its layout never changes, so that each version can name any other one.
 *
 *   0       4         5        6         7         11        11+n      15+n
 *   +-------+---------+--------+---------+---------+---------+---------+
 *   | magic | version | lowest | highest | n       | body    | CRC-32C |
 *   +-------+---------+--------+---------+---------+---------+---------+
 *    4 ASCII  uint8     uint8    uint8     uint32    n bytes   uint32, of all bytes before
 *
 * `version` is that of the body; `lowest` and `highest` are the versions that the sender reads. Numbers are
 * little-endian. A version only adds fields at the end of the body, so a process reads the version after its
 * own as well: it skips what it does not know. Two consecutive versions so live in one group.
 */

const HEADER_BYTES = 11
const CHECKSUM_BYTES = 4

/** Versions of a format, `lowest <= version <= highest`. */
export interface FormatRange {
  readonly lowest: number
  readonly highest: number
}

/** Versions of the group's formats whose every field this build knows. */
export const GROUP_FORMATS: FormatRange = { lowest: 1, highest: 1 }

/** Frame whose length and checksum are right. */
export interface Frame {
  readonly version: number
  readonly understands: FormatRange
  readonly body: Uint8Array
}

/** Head of a frame that is written. */
export interface FrameHead {
  /** Four ASCII letters that name the kind of the body. */
  readonly magic: string
  readonly version: number
  readonly understands: FormatRange
}

/** Bytes of a frame around the body that `writeBody` writes. */
export function encodeFrame(head: FrameHead, writeBody: (out: ByteWriter) => void): Uint8Array {
  const body = new ByteWriter(256)
  writeBody(body)
  const out = new ByteWriter(HEADER_BYTES + body.length + CHECKSUM_BYTES)
  for (const letter of head.magic) out.uint8(letter.charCodeAt(0))
  out.uint8(head.version)
  out.uint8(head.understands.lowest)
  out.uint8(head.understands.highest)
  out.uint32(body.length)
  out.copy(body.bytes, 0, body.length)
  out.uint32(crc32c(out.bytes, 0, out.length))
  return out.toBytes()
}

/**
 * The frame in `bytes`. Throws MALFORMED_DATA for another magic or length, CHECKSUM_MISMATCH for damage, and
 * UNSUPPORTED_VERSION for a version that is neither one of `GROUP_FORMATS` nor the one after.
 */
export function openFrame(bytes: Uint8Array, magic: string): Frame {
  const reader = new ByteReader(bytes)
  const found = String.fromCharCode(...reader.raw(4))
  if (found !== magic) throw malformed(`data of the group begin with ${magic}, not ${shown(found)}`)
  const version = reader.uint8()
  const understands = { lowest: reader.uint8(), highest: reader.uint8() }
  const body = reader.raw(reader.uint32())
  const checksum = reader.uint32()
  if (reader.remaining > 0) throw malformed(`${magic} has ${reader.remaining} bytes too many`)
  if (checksum !== crc32c(bytes, 0, bytes.length - CHECKSUM_BYTES)) {
    throw new WeirError('CHECKSUM_MISMATCH', `${magic} of ${bytes.length} bytes is damaged`)
  }
  if (!isReadable(version)) {
    const { lowest, highest } = GROUP_FORMATS
    throw new WeirError(
      'UNSUPPORTED_VERSION',
      `${magic} has version ${version}; this build reads ${lowest} to ${highest + 1}. Upgrade one version at a time`,
    )
  }
  return { version, understands, body }
}

/** The fields of a frame's body, as `read` takes them. A version that this build knows has no bytes behind them. */
export function readBody<T>({ version, body }: Frame, read: (reader: ByteReader) => T): T {
  const reader = new ByteReader(body)
  const value = read(reader)
  if (version <= GROUP_FORMATS.highest && reader.remaining > 0) {
    throw malformed(`the body has ${reader.remaining} bytes behind its last field`)
  }
  return value
}

/** The newest version that all of these processes read; undefined when there is none. */
export function commonVersion(ranges: readonly FormatRange[]): number | undefined {
  const highest = Math.min(GROUP_FORMATS.highest, ...ranges.map((range) => range.highest))
  const lowest = Math.max(GROUP_FORMATS.lowest, ...ranges.map((range) => range.lowest))
  return lowest <= highest ? highest : undefined
}

function isReadable(version: number): boolean {
  return version >= GROUP_FORMATS.lowest && version <= GROUP_FORMATS.highest + 1
}

/** An error for data that do not follow the format. */
export function malformed(message: string): WeirError {
  return new WeirError('MALFORMED_DATA', message)
}

function shown(text: string): string {
  return JSON.stringify(text)
}
