import { WeirError } from '../../../core/errors.ts'
import { crc32c } from '../../../core/hash/crc32c.ts'
import type { JobRecord } from './job-record.ts'

/*
 * Format of a stored job: a line `weir-job 1 CRC`, then the record as JSON in UTF-8. CRC is the CRC-32C of
 * the bytes of the JSON, eight hexadecimal digits. Numbers that JSON lacks (NaN and the infinities, which
 * metrics may have) are texts after `#`; a text that begins with `#` gets another one.
 */

const VERSION = 1
const HEAD = /^weir-job (\d+) ([0-9a-f]{8})\n/

/** Bytes of a stored job. */
export function encodeJob(record: JobRecord): Uint8Array {
  const json = new TextEncoder().encode(JSON.stringify(record, encodeNumber))
  const checksum = crc32c(json).toString(16).padStart(8, '0')
  return Buffer.concat([Buffer.from(`weir-job ${VERSION} ${checksum}\n`), json])
}

/** The record of a stored job. Throws MALFORMED_DATA, CHECKSUM_MISMATCH, UNSUPPORTED_VERSION. */
export function decodeJob(bytes: Uint8Array, file: string): JobRecord {
  const head = HEAD.exec(new TextDecoder('latin1').decode(bytes.subarray(0, 64)))
  if (head === null) throw new WeirError('MALFORMED_DATA', `${file} is not a stored job`)
  const version = Number(head[1])
  if (version > VERSION) {
    throw new WeirError(
      'UNSUPPORTED_VERSION',
      `${file}: version ${version} is newer than this Weir reads (${VERSION}); update Weir`,
    )
  }
  const json = bytes.subarray(head[0].length)
  if (crc32c(json) !== Number.parseInt(head[2]!, 16)) {
    throw new WeirError(
      'CHECKSUM_MISMATCH',
      `${file}: its bytes differ from its checksum; move the file away, and submit the job again`,
    )
  }
  return JSON.parse(new TextDecoder().decode(json), decodeNumber) as JobRecord
}

function encodeNumber(_key: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) return `#${value}`
  return typeof value === 'string' && value.startsWith('#') ? `#${value}` : value
}

function decodeNumber(_key: string, value: unknown): unknown {
  if (typeof value !== 'string' || !value.startsWith('#')) return value
  return value.startsWith('##') ? value.slice(1) : Number(value.slice(1))
}
