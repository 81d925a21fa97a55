import { WeirError } from '../../core/errors.ts'
import { crc32c } from '../../core/hash/crc32c.ts'
import { codecOf, decompress } from './compression.ts'
import {
  attributesOf,
  BATCH_FIELDS,
  BATCH_HEADER_SIZE,
  batchSizeAt,
  COMPRESSION_MASK,
  CONTROL_BIT,
  LOG_APPEND_TIME_BIT,
  MAGIC,
  producerEpochOf,
  producerIdOf,
  type RecordHeader,
  readInt32,
  readInt64,
  TRANSACTIONAL_BIT,
} from './record-batch-format.ts'

const EMPTY = new Uint8Array(0)
const decoder = new TextDecoder()

/** Smallest size of a record: length, attributes, two deltas, two lengths, headers. */
const SMALLEST_RECORD = 7

/**
 * Cursor over the records of one batch, in place: `open`, then `next` until it returns false. Key and
 * value are slices of `bytes`; nothing is allocated per record. For any input, the reader throws only
 * WeirError, and slices stay inside `bytes`.
 */
export class RecordBatchReader {
  /** The bytes of the slices: the given ones, or the unpacked records of a compressed batch. */
  bytes: Uint8Array = EMPTY
  /** Slices of the current record. A length of -1 means null; then the start has no meaning. */
  keyStart = 0
  keyLength = -1
  valueStart = 0
  valueLength = -1
  /** Milliseconds since 1970, -1 for none. */
  timestamp = -1
  offset = -1

  /** Fields of the batch. */
  baseOffset = 0
  lastOffset = -1
  count = 0
  producerId = -1
  producerEpoch = -1
  isTransactional = false
  isControl = false

  private at = 0
  private limit = 0
  private left = 0
  private lastOffsetDelta = -1
  private previousDelta = -1
  private headersStart = 0
  private recordEnd = 0
  private baseTimestamp = 0
  private maxTimestamp = -1
  private logAppendTime = false

  /**
   * Begins the batch at `start` and returns the position after it. Throws MALFORMED_DATA,
   * CHECKSUM_MISMATCH (unless `verifyChecksum` is false) and UNSUPPORTED_VERSION (another magic).
   */
  open(source: Uint8Array, start = 0, verifyChecksum = true): number {
    this.left = 0
    const size = batchSizeAt(source, start, source.length)
    if (size < 0 || start + size > source.length) {
      throw new WeirError('MALFORMED_DATA', `the batch at ${start} is cut off`)
    }
    const magic = source[start + BATCH_FIELDS.magic]!
    if (magic !== MAGIC) {
      throw new WeirError('UNSUPPORTED_VERSION', `record batch magic ${magic}; only 2 is read`)
    }
    const end = start + size
    if (verifyChecksum) checkCrc(source, start, end)
    this.openHeader(source, start)
    this.openRecords(source, start, end)
    return end
  }

  private openHeader(source: Uint8Array, start: number): void {
    const attributes = attributesOf(source, start)
    const lastOffsetDelta = readInt32(source, start + BATCH_FIELDS.lastOffsetDelta)
    this.baseOffset = readInt64(source, start)
    this.lastOffset = this.baseOffset + lastOffsetDelta
    if (this.baseOffset < 0 || lastOffsetDelta < -1 || !Number.isSafeInteger(this.lastOffset)) {
      throw new WeirError('MALFORMED_DATA', `the batch at ${start} has impossible offsets`)
    }
    this.lastOffsetDelta = lastOffsetDelta
    this.previousDelta = -1
    this.baseTimestamp = readInt64(source, start + BATCH_FIELDS.baseTimestamp)
    this.maxTimestamp = readInt64(source, start + BATCH_FIELDS.maxTimestamp)
    this.producerId = producerIdOf(source, start)
    this.producerEpoch = producerEpochOf(source, start)
    this.isTransactional = (attributes & TRANSACTIONAL_BIT) !== 0
    this.isControl = (attributes & CONTROL_BIT) !== 0
    this.logAppendTime = (attributes & LOG_APPEND_TIME_BIT) !== 0
  }

  private openRecords(source: Uint8Array, start: number, end: number): void {
    const codec = codecOf(attributesOf(source, start) & COMPRESSION_MASK)
    const count = readInt32(source, start + BATCH_FIELDS.recordsCount)
    if (codec === 'none') {
      this.bytes = source
      this.at = start + BATCH_HEADER_SIZE
      this.limit = end
    } else {
      this.bytes = decompress(codec, source.subarray(start + BATCH_HEADER_SIZE, end))
      this.at = 0
      this.limit = this.bytes.length
    }
    if (count < 0 || count * SMALLEST_RECORD > this.limit - this.at) {
      throw new WeirError('MALFORMED_DATA', `the batch at ${start} claims ${count} records`)
    }
    this.count = count
    this.left = count
  }

  /** Moves to the next record; false when there is none. Throws MALFORMED_DATA. */
  next(): boolean {
    if (this.left === 0) {
      if (this.at !== this.limit) malformed(this.at, 'bytes follow the last record')
      return false
    }
    this.left -= 1
    const bodySize = this.varint()
    const recordEnd = this.at + bodySize
    if (bodySize < SMALLEST_RECORD - 1 || recordEnd > this.limit) {
      malformed(this.at, `a record of ${bodySize} bytes does not fit`)
    }
    this.at += 1
    const timestampDelta = this.varlong()
    const offsetDelta = this.varint()
    const keyLength = this.varint()
    this.keyStart = this.at
    if (keyLength > 0) this.at += keyLength
    if (keyLength < -1 || this.at >= recordEnd) malformed(this.keyStart, 'a key does not fit')
    const valueLength = this.varint()
    this.valueStart = this.at
    if (valueLength > 0) this.at += valueLength
    if (valueLength < -1 || this.at >= recordEnd) malformed(this.valueStart, 'a value does not fit')
    if (offsetDelta <= this.previousDelta || offsetDelta > this.lastOffsetDelta) {
      malformed(this.keyStart, `offset delta ${offsetDelta} is out of order`)
    }
    this.previousDelta = offsetDelta
    this.keyLength = keyLength
    this.valueLength = valueLength
    this.offset = this.baseOffset + offsetDelta
    this.timestamp = this.logAppendTime ? this.maxTimestamp : this.baseTimestamp + timestampDelta
    this.headersStart = this.at
    this.recordEnd = recordEnd
    this.at = recordEnd
    return true
  }

  /** The key as a view, null when there is none. */
  key(): Uint8Array | null {
    if (this.keyLength < 0) return null
    return this.bytes.subarray(this.keyStart, this.keyStart + this.keyLength)
  }

  /** The value as a view, null when there is none (a tombstone). */
  value(): Uint8Array | null {
    if (this.valueLength < 0) return null
    return this.bytes.subarray(this.valueStart, this.valueStart + this.valueLength)
  }

  /** Decodes the headers of the current record; values are views. Throws MALFORMED_DATA. */
  headers(): RecordHeader[] {
    const resume = this.at
    this.at = this.headersStart
    try {
      return this.decodeHeaders()
    } finally {
      this.at = resume
    }
  }

  /**
   * The value of the first header of the current record with a name, as a view; undefined without one. The others are not
   * decoded. Throws MALFORMED_DATA.
   */
  header(name: Uint8Array): Uint8Array | null | undefined {
    const resume = this.at
    this.at = this.headersStart
    try {
      for (let left = this.varint(); left > 0; left--) {
        const isNamed = this.skipName(name)
        const value = this.slice()
        if (isNamed) return value
      }
      return undefined
    } finally {
      this.at = resume
    }
  }

  /** Moves behind the name of a header; whether it is this one. */
  private skipName(name: Uint8Array): boolean {
    const length = this.varint()
    const start = this.at
    if (length < 0 || start + length > this.recordEnd) malformed(start, 'a header does not fit')
    this.at += length
    if (length !== name.length) return false
    for (let i = 0; i < length; i++) if (this.bytes[start + i] !== name[i]) return false
    return true
  }

  private decodeHeaders(): RecordHeader[] {
    const count = this.varint()
    if (count < 0 || count * 2 > this.recordEnd - this.at) {
      malformed(this.headersStart, `${count} headers do not fit`)
    }
    const headers: RecordHeader[] = []
    for (let i = 0; i < count; i++) {
      const key = this.slice()
      if (key === null) malformed(this.at, 'a header has no key')
      headers.push({ key: decoder.decode(key), value: this.slice() })
    }
    if (this.at !== this.recordEnd) malformed(this.at, 'bytes follow the last header')
    return headers
  }

  private slice(): Uint8Array | null {
    const length = this.varint()
    const start = this.at
    if (length < -1 || start + length > this.recordEnd) malformed(start, 'a header does not fit')
    if (length === -1) return null
    this.at += length
    return this.bytes.subarray(start, start + length)
  }

  // Varints are read without their own bounds check: bytes after the record are at worst wrong or
  // undefined (0 in the arithmetic), and then the checks of `next` reject the record.
  private varint(): number {
    const bytes = this.bytes
    let at = this.at
    let byte = bytes[at++]! | 0
    let raw = byte & 0x7f
    for (let shift = 7; byte > 0x7f; shift += 7) {
      if (shift > 28) malformed(at, 'a number is longer than 32 bits')
      byte = bytes[at++]! | 0
      raw |= (byte & 0x7f) << shift
    }
    this.at = at
    return (raw >>> 1) ^ -(raw & 1)
  }

  private varlong(): number {
    const bytes = this.bytes
    const at = this.at
    const b0 = bytes[at]!
    if (b0 < 0x80) {
      this.at = at + 1
      return (b0 >>> 1) ^ -(b0 & 1)
    }
    const b1 = bytes[at + 1]!
    if (b1 < 0x80) {
      const raw = (b0 & 0x7f) | (b1 << 7)
      this.at = at + 2
      return (raw >>> 1) ^ -(raw & 1)
    }
    const b2 = bytes[at + 2]!
    if (b2 < 0x80) {
      const raw = (b0 & 0x7f) | ((b1 & 0x7f) << 7) | (b2 << 14)
      this.at = at + 3
      return (raw >>> 1) ^ -(raw & 1)
    }
    return this.longVarlong()
  }

  private longVarlong(): number {
    let odd = 0
    let half = 0
    // Weight of the lowest bit of the next byte.
    let weight = 64
    let at = this.at
    for (let i = 0; i < 10; i++) {
      const byte = this.bytes[at++]! | 0
      if (i === 0) {
        odd = byte & 1
        half = (byte & 0x7f) >>> 1
      } else {
        half += (byte & 0x7f) * weight
        weight *= 128
      }
      if (byte < 0x80) {
        this.at = at
        return odd === 0 ? half : -half - 1
      }
    }
    return malformed(at, 'a number is longer than 64 bits')
  }
}

function checkCrc(source: Uint8Array, start: number, end: number): void {
  const stored = readInt32(source, start + BATCH_FIELDS.crc) >>> 0
  const computed = crc32c(source, start + BATCH_FIELDS.attributes, end)
  if (stored !== computed) {
    throw new WeirError('CHECKSUM_MISMATCH', `the batch at ${start} differs from its checksum`)
  }
}

function malformed(at: number, problem: string): never {
  throw new WeirError('MALFORMED_DATA', `broken record batch near byte ${at}: ${problem}`)
}
