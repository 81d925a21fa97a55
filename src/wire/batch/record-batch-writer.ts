import { copyBytes } from '../../core/copy-bytes.ts'
import { requireArgument, WeirError } from '../../core/errors.ts'
import { CODEC_IDS, type Codec, compress } from './compression.ts'
import { encodeHeaders } from './encode-headers.ts'
import { BATCH_HEADER_SIZE, type RecordHeader } from './record-batch-format.ts'
import { RECORD_OVERHEAD } from './record-size.ts'
import { varintSize, varlongSize, writeVarint, writeVarlong } from './varint.ts'
import { type HeaderOptions, writeHeader } from './write-header.ts'

/** Options of `finish` and `take`. */
export interface FinishOptions extends HeaderOptions {
  /** Compression of the records; default none. */
  readonly codec?: Codec
}

const DEFAULT_FINISH: FinishOptions = {}
const NO_BYTES = new Uint8Array(0)
const NO_HEADERS: readonly RecordHeader[] = []

/**
 * Most bytes of key and value of a record whose lengths all take one byte: 63 minus its other fields,
 * and minus one, because a missing key counts as -1.
 */
const SHORT_RECORD = 63 - (1 + 5 + 5 + 1 + 1 + 1) - 1
/** Timestamp deltas below this are varints of at most five bytes. */
const SMALL_DELTA = 2 ** 30

/**
 * Encodes records into one batch (format: `record-batch-format.ts`). The buffer is reused from batch
 * to batch and grows as needed; nothing is allocated per record.
 */
export class RecordBatchWriter {
  private bytes: Uint8Array<ArrayBuffer>
  private length = BATCH_HEADER_SIZE
  private baseOffset = 0
  private baseTimestamp = 0
  private maxTimestamp = -1
  private lastDelta = -1
  private records = 0

  constructor(initialCapacity = 16_384) {
    this.bytes = new Uint8Array(Math.max(initialCapacity, BATCH_HEADER_SIZE))
  }

  /** Records appended since `reset`. */
  get count(): number {
    return this.records
  }

  /** Bytes of the batch so far, header included, before compression. */
  get size(): number {
    return this.length
  }

  /** Offset delta of the last record, -1 when there is none. */
  get lastOffsetDelta(): number {
    return this.lastDelta
  }

  /** Begins a new batch whose first possible offset is `baseOffset`. */
  reset(baseOffset = 0): void {
    this.length = BATCH_HEADER_SIZE
    this.baseOffset = baseOffset
    this.baseTimestamp = 0
    this.maxTimestamp = -1
    this.lastDelta = -1
    this.records = 0
  }

  /**
   * Appends a record; `timestamp` in ms, -1 for none; `offsetDelta` counts from the base offset and
   * must grow from record to record (default: one more than the last). Throws INVALID_ARGUMENT.
   */
  append(
    key: Uint8Array | null,
    value: Uint8Array | null,
    timestamp: number,
    offsetDelta: number = this.lastDelta + 1,
    headers: readonly RecordHeader[] = NO_HEADERS,
  ): void {
    const keyLength = key === null ? -1 : key.length
    const valueLength = value === null ? -1 : value.length
    const keyBytes = key ?? NO_BYTES
    const valueBytes = value ?? NO_BYTES
    if (headers.length === 0) {
      this.appendSlices(keyBytes, 0, keyLength, valueBytes, 0, valueLength, timestamp, offsetDelta)
      return
    }
    const encoded = encodeHeaders(headers)
    const size = encoded.length
    this.begin(keyBytes, 0, keyLength, valueBytes, 0, valueLength, timestamp, offsetDelta, size)
    this.length = copyBytes(encoded, 0, this.bytes, this.length, encoded.length)
  }

  /**
   * Appends a record without headers whose key and value are slices; a length of -1 means null. Throws
   * INVALID_ARGUMENT as `append` does.
   */
  appendSlices(
    keyBytes: Uint8Array,
    keyStart: number,
    keyLength: number,
    valueBytes: Uint8Array,
    valueStart: number,
    valueLength: number,
    timestamp: number,
    offsetDelta: number = this.lastDelta + 1,
  ): void {
    const timestampDelta = timestamp - this.baseTimestamp
    if (this.isShort(keyLength + valueLength, timestampDelta)) {
      if (timestamp > this.maxTimestamp) this.maxTimestamp = timestamp
      if (offsetDelta <= this.lastDelta) refuseDelta(offsetDelta, this.lastDelta)
      const start = this.length
      let at = writeVarint(this.bytes, start + 2, timestampDelta)
      at = writeVarint(this.bytes, at, offsetDelta)
      at = appendShort(this.bytes, at, keyBytes, keyStart, keyLength)
      at = appendShort(this.bytes, at, valueBytes, valueStart, valueLength)
      this.endShort(start, at)
      this.lastDelta = offsetDelta
      return
    }
    this.begin(
      keyBytes,
      keyStart,
      keyLength,
      valueBytes,
      valueStart,
      valueLength,
      timestamp,
      offsetDelta,
      1,
    )
    this.bytes[this.length++] = 0
  }

  /** Whether a record can be written before its length is computed. */
  private isShort(bytes: number, timestampDelta: number): boolean {
    return (
      bytes <= SHORT_RECORD &&
      this.records > 0 &&
      timestampDelta < SMALL_DELTA &&
      timestampDelta > -SMALL_DELTA &&
      this.length + SHORT_RECORD + RECORD_OVERHEAD <= this.bytes.length
    )
  }

  /** Completes a short record: no headers, and its length, which is one byte. */
  private endShort(start: number, end: number): void {
    this.bytes[start] = (end - start) << 1
    this.bytes[start + 1] = 0
    this.bytes[end] = 0
    this.length = end + 1
    this.records += 1
  }

  private begin(
    keyBytes: Uint8Array,
    keyStart: number,
    keyLength: number,
    valueBytes: Uint8Array,
    valueStart: number,
    valueLength: number,
    timestamp: number,
    offsetDelta: number,
    headersSize: number,
  ): void {
    if (this.records === 0) {
      this.baseTimestamp = timestamp
      this.maxTimestamp = timestamp
    } else if (timestamp > this.maxTimestamp) {
      this.maxTimestamp = timestamp
    }
    if (offsetDelta <= this.lastDelta) refuseDelta(offsetDelta, this.lastDelta)
    const timestampDelta = timestamp - this.baseTimestamp
    const keySize = Math.max(keyLength, 0)
    const valueSize = Math.max(valueLength, 0)
    const bodySize =
      1 +
      varlongSize(timestampDelta) +
      varintSize(offsetDelta) +
      varintSize(keyLength) +
      keySize +
      varintSize(valueLength) +
      valueSize +
      headersSize
    if (this.length + bodySize + RECORD_OVERHEAD > this.bytes.length) this.grow(bodySize)
    const bytes = this.bytes
    let at = writeVarint(bytes, this.length, bodySize)
    bytes[at++] = 0
    at = writeVarlong(bytes, at, timestampDelta)
    at = writeVarint(bytes, at, offsetDelta)
    at = writeVarint(bytes, at, keyLength)
    if (keySize > 0) at = copyBytes(keyBytes, keyStart, bytes, at, keySize)
    at = writeVarint(bytes, at, valueLength)
    if (valueSize > 0) at = copyBytes(valueBytes, valueStart, bytes, at, valueSize)
    this.length = at
    this.lastDelta = offsetDelta
    this.records += 1
  }

  private grow(bodySize: number): void {
    const needed = this.length + bodySize + RECORD_OVERHEAD
    requireArgument(
      needed < 2 ** 31,
      'a record batch must be smaller than 2 GiB; finish it earlier',
    )
    const grown = new Uint8Array(Math.max(needed, this.bytes.length * 2))
    grown.set(this.bytes.subarray(0, this.length))
    this.bytes = grown
  }

  /**
   * Completes the batch and returns its bytes: a view that is valid until the next `reset`, or a copy
   * when compressed.
   */
  finish(options: FinishOptions = DEFAULT_FINISH): Uint8Array<ArrayBuffer> {
    const codec = options.codec ?? 'none'
    let bytes = this.bytes
    let length = this.length
    if (codec !== 'none') {
      const packed = compress(codec, bytes.subarray(BATCH_HEADER_SIZE, length))
      length = BATCH_HEADER_SIZE + packed.length
      bytes = new Uint8Array(length)
      bytes.set(packed, BATCH_HEADER_SIZE)
    }
    const content = {
      baseOffset: this.baseOffset,
      lastOffsetDelta: this.lastDelta,
      baseTimestamp: this.baseTimestamp,
      maxTimestamp: this.maxTimestamp,
      records: this.records,
      codecId: CODEC_IDS[codec],
    }
    writeHeader(bytes, length, content, options)
    return bytes.subarray(0, length)
  }

  /** Extends the batch up to base + `lastOffsetDelta`: compaction leaves gaps after the last record. */
  extendTo(lastOffsetDelta: number): void {
    if (lastOffsetDelta > this.lastDelta) this.lastDelta = lastOffsetDelta
  }

  /**
   * Like `finish`, but the returned view owns its ArrayBuffer, which may be transferred to another
   * thread. The writer begins an empty batch in `replacement` or in a new buffer.
   */
  take(
    options: FinishOptions = DEFAULT_FINISH,
    replacement?: ArrayBuffer,
  ): Uint8Array<ArrayBuffer> {
    const finished = this.finish(options)
    if (finished.buffer === this.bytes.buffer) {
      this.bytes =
        replacement !== undefined && replacement.byteLength >= BATCH_HEADER_SIZE
          ? new Uint8Array(replacement)
          : new Uint8Array(this.bytes.length)
    }
    this.reset()
    return finished
  }
}

/** Writes the length of a slice (below 64, -1 for null) and its bytes; returns the end. */
function appendShort(
  target: Uint8Array,
  at: number,
  bytes: Uint8Array,
  start: number,
  length: number,
): number {
  target[at] = length < 0 ? 1 : length << 1
  return copyBytes(bytes, start, target, at + 1, Math.max(length, 0))
}

function refuseDelta(offsetDelta: number, last: number): never {
  throw new WeirError(
    'INVALID_ARGUMENT',
    `offset delta ${offsetDelta} must be above the last one, ${last}`,
  )
}
