import { requireArgument, WeirError } from '../../core/errors.ts'
import { crc32c } from '../../core/hash/crc32c.ts'

/**
 * A model version in a file: `weir model export` writes it, and a retraining passes rows in it. Numbers are
 * little-endian.
 *
 *   +----------------------------+
 *   | "WEIRMDL2"                 |  8; the last digit is the version of the format
 *   | length of the header  u32  |
 *   | header, JSON               |  `dimension`, `rows` and what the writer adds
 *   +----------------------------+
 *   | length of the key     u16  |  for each row
 *   | key, UTF-8                 |  `<id>-U` or `<id>-I`
 *   | float32 x dimension        |
 *   | ratings               u32  |  that the row was trained on; 2^32 - 1 if not counted
 *   +----------------------------+
 *   | CRC-32C of all before u32  |
 *   +----------------------------+
 *
 * Version 1 is the same without `ratings`; readers accept it.
 */
export interface ModelFileHeader {
  /** Floats of a row. */
  readonly dimension: number
  /** Number of rows. */
  readonly rows: number
}

const FORMAT = 2
const MAGIC = new TextEncoder().encode(`WEIRMDL${FORMAT}`)
const ZERO = 0x30
/** Stands for ratings that were not counted. */
const UNKNOWN = 2 ** 32 - 1
const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { fatal: true })

/** Encodes a model file in pieces: `header`, `row` for every row, `end`. */
export class ModelFileEncoder {
  private crc = 0
  private left: number
  private readonly dimension: number

  constructor(header: ModelFileHeader) {
    this.left = header.rows
    this.dimension = header.dimension
  }

  /** The first piece. The header may have further fields. */
  header(header: ModelFileHeader): Uint8Array {
    const json = encoder.encode(JSON.stringify(header))
    const bytes = new Uint8Array(MAGIC.length + 4 + json.length)
    bytes.set(MAGIC)
    new DataView(bytes.buffer).setUint32(MAGIC.length, json.length, true)
    bytes.set(json, MAGIC.length + 4)
    return this.checked(bytes)
  }

  /** A row. Throws INVALID_ARGUMENT for a row of another length, or for one too many. */
  row({ key, vector, ratings = UNKNOWN }: ModelFileRow): Uint8Array {
    if (vector.length !== this.dimension || this.left <= 0) {
      throw new WeirError(
        'INVALID_ARGUMENT',
        `row ${key} of ${vector.length} floats does not belong to this file of ${this.dimension} floats a row`,
      )
    }
    this.left--
    const name = encoder.encode(key)
    const bytes = new Uint8Array(2 + name.length + vector.length * 4 + 4)
    const view = new DataView(bytes.buffer)
    view.setUint16(0, name.length, true)
    bytes.set(name, 2)
    for (const [i, value] of vector.entries()) view.setFloat32(2 + name.length + i * 4, value, true)
    view.setUint32(bytes.length - 4, ratings, true)
    return this.checked(bytes)
  }

  /** The last piece. Throws INVALID_ARGUMENT when rows are missing. */
  end(): Uint8Array {
    requireArgument(this.left === 0, `${this.left} rows of the model file are missing`)
    const bytes = new Uint8Array(4)
    new DataView(bytes.buffer).setUint32(0, this.crc, true)
    return bytes
  }

  private checked(bytes: Uint8Array): Uint8Array {
    this.crc = crc32c(bytes, 0, bytes.length, this.crc)
    return bytes
  }
}

/** A row of a model file. */
export interface ModelFileRow {
  readonly key: string
  readonly vector: Float32Array
  /** Ratings that the row was trained on; undefined if not counted. */
  readonly ratings?: number | undefined
}

/** Decodes a model file from pieces of any size: `push` for each, then `end`. */
export class ModelFileDecoder {
  /** The header; undefined until it was pushed whole. */
  header: (ModelFileHeader & Readonly<Record<string, unknown>>) | undefined
  /** Version of the format, known with the header. */
  private format = FORMAT
  private rest: Uint8Array = new Uint8Array(0)
  private crc = 0
  private left = 0

  /** Takes a piece; the rows that it completes. Throws MALFORMED_DATA, UNSUPPORTED_VERSION. */
  push(chunk: Uint8Array): ModelFileRow[] {
    const bytes = new Uint8Array(this.rest.length + chunk.length)
    bytes.set(this.rest)
    bytes.set(chunk, this.rest.length)
    const view = new DataView(bytes.buffer)
    let at = this.header === undefined ? this.readHeader(bytes, view) : 0
    const rows: ModelFileRow[] = []
    const floats = 4 * (this.header?.dimension ?? 0)
    const counted = this.format > 1 ? 4 : 0
    while (this.header !== undefined && this.left > 0 && at + 2 <= bytes.length) {
      const keyEnd = at + 2 + view.getUint16(at, true)
      const vectorEnd = keyEnd + floats
      if (vectorEnd + counted > bytes.length) break
      const key = decodeText(bytes.subarray(at + 2, keyEnd))
      const vector = new Float32Array(this.header.dimension)
      for (let i = 0; i < vector.length; i++) vector[i] = view.getFloat32(keyEnd + i * 4, true)
      const ratings = counted === 0 ? UNKNOWN : view.getUint32(vectorEnd, true)
      rows.push({ key, vector, ratings: ratings === UNKNOWN ? undefined : ratings })
      at = vectorEnd + counted
      this.left--
    }
    this.crc = crc32c(bytes, 0, at, this.crc)
    this.rest = bytes.subarray(at)
    return rows
  }

  /** Ends the file. Throws MALFORMED_DATA when it is truncated or too long, CHECKSUM_MISMATCH. */
  end(): void {
    if (this.header === undefined || this.left > 0 || this.rest.length !== 4) {
      throw new WeirError(
        'MALFORMED_DATA',
        'the model file is truncated or has bytes after its rows',
      )
    }
    const stored = new DataView(this.rest.buffer, this.rest.byteOffset).getUint32(0, true)
    if (stored === this.crc) return
    throw new WeirError('CHECKSUM_MISMATCH', 'the model file was changed after it was written')
  }

  /** Offset of the first row; 0 until the header is whole. */
  private readHeader(bytes: Uint8Array, view: DataView): number {
    const start = MAGIC.length + 4
    if (bytes.length < start) return 0
    for (let i = 0; i < MAGIC.length - 1; i++) {
      if (bytes[i] !== MAGIC[i]) throw new WeirError('MALFORMED_DATA', 'this is no model file')
    }
    this.format = bytes[MAGIC.length - 1]! - ZERO
    if (this.format < 1 || this.format > FORMAT) {
      throw new WeirError('UNSUPPORTED_VERSION', 'the model file is of a newer format')
    }
    const end = start + view.getUint32(MAGIC.length, true)
    if (bytes.length < end) return 0
    this.header = parseHeader(decodeText(bytes.subarray(start, end)))
    this.left = this.header.rows
    return end
  }
}

function decodeText(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch (cause) {
    throw new WeirError('MALFORMED_DATA', 'a text of the model file is not UTF-8', { cause })
  }
}

function parseHeader(text: string): ModelFileHeader & Readonly<Record<string, unknown>> {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (cause) {
    throw new WeirError('MALFORMED_DATA', 'the header of the model file is not JSON', { cause })
  }
  const fields = (typeof parsed === 'object' && parsed !== null ? parsed : {}) as Record<
    string,
    unknown
  >
  const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0
  if (!isCount(fields['dimension']) || fields['dimension'] === 0 || !isCount(fields['rows'])) {
    throw new WeirError('MALFORMED_DATA', 'the header of the model file lacks dimension or rows')
  }
  return fields as unknown as ModelFileHeader & Readonly<Record<string, unknown>>
}
