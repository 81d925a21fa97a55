import { requireArgument, WeirError } from '../../core/errors.ts'
import { crc32c } from '../../core/hash/crc32c.ts'

/**
 * A model version in a file: `weir model export` writes it, and a retraining passes rows in it. Numbers are
 * little-endian.
 *
 *   +----------------------------+
 *   | "WEIRMDL3"                 |  8; the last digit is the version of the format
 *   | length of the header  u32  |
 *   | header, JSON               |  `dimension`, `rows` and what the writer adds
 *   +----------------------------+
 *   | length of the key     u16  |  for each row
 *   | key, UTF-8                 |  `<id>-U` or `<id>-I`
 *   | float32 x dimension        |
 *   | ratings               u32  |  that the row was trained on; 2^32 - 1 if not counted
 *   | floats of the memory  u32  |
 *   | memory, float32            |  what learning keeps beside the weights of a block; variances of a user or an item
 *   +----------------------------+
 *   | CRC-32C of all before u32  |
 *   +----------------------------+
 *
 * Version 2 is the same without the memory, version 1 without `ratings` too; readers accept both.
 */
export interface ModelFileHeader {
  /** Floats of a row. */
  readonly dimension: number
  /** Number of rows. */
  readonly rows: number
}

const FORMAT = 3
const MAGIC = new TextEncoder().encode(`WEIRMDL${FORMAT}`)
const ZERO = 0x30
/** Stands for ratings that were not counted. */
const UNKNOWN = 2 ** 32 - 1
const NO_FLOATS = new Float32Array(0)
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
  row({ key, vector, ratings = UNKNOWN, memory = NO_FLOATS }: ModelFileRow): Uint8Array {
    if (vector.length !== this.dimension || this.left <= 0) {
      throw new WeirError(
        'INVALID_ARGUMENT',
        `row ${key} of ${vector.length} floats does not belong to this file of ${this.dimension} floats a row`,
      )
    }
    this.left--
    const name = encoder.encode(key)
    const vectorEnd = 2 + name.length + vector.length * 4
    const bytes = new Uint8Array(vectorEnd + 8 + memory.length * 4)
    const view = new DataView(bytes.buffer)
    view.setUint16(0, name.length, true)
    bytes.set(name, 2)
    writeFloats(view, 2 + name.length, vector)
    view.setUint32(vectorEnd, ratings, true)
    view.setUint32(vectorEnd + 4, memory.length, true)
    writeFloats(view, vectorEnd + 8, memory)
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
  /** What learning keeps beside the weights of a block; undefined if there is none. */
  readonly memory?: Float32Array | undefined
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
    while (this.header !== undefined && this.left > 0) {
      const end = this.rowEnd(view, at, this.header.dimension)
      if (end === undefined) break
      rows.push(this.row(bytes, view, at, this.header.dimension))
      at = end
      this.left--
    }
    this.crc = crc32c(bytes, 0, at, this.crc)
    this.rest = bytes.subarray(at)
    return rows
  }

  /** Offset behind a row; undefined until the row was pushed whole. */
  private rowEnd(view: DataView, at: number, dimension: number): number | undefined {
    if (at + 2 > view.byteLength) return undefined
    const vectorEnd = at + 2 + view.getUint16(at, true) + 4 * dimension
    if (this.format < 3) return within(vectorEnd + (this.format > 1 ? 4 : 0), view)
    const memoryAt = within(vectorEnd + 8, view)
    if (memoryAt === undefined) return undefined
    return within(memoryAt + 4 * view.getUint32(memoryAt - 4, true), view)
  }

  private row(bytes: Uint8Array, view: DataView, at: number, dimension: number): ModelFileRow {
    const keyEnd = at + 2 + view.getUint16(at, true)
    const vectorEnd = keyEnd + 4 * dimension
    const key = decodeText(bytes.subarray(at + 2, keyEnd))
    const vector = readFloats(view, keyEnd, dimension)
    const ratings = this.format > 1 ? view.getUint32(vectorEnd, true) : UNKNOWN
    const floats = this.format > 2 ? view.getUint32(vectorEnd + 4, true) : 0
    return {
      key,
      vector,
      ratings: ratings === UNKNOWN ? undefined : ratings,
      memory: floats === 0 ? undefined : readFloats(view, vectorEnd + 8, floats),
    }
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

/** The offset, if it is inside of what was pushed. */
function within(end: number, view: DataView): number | undefined {
  return end > view.byteLength ? undefined : end
}

function readFloats(view: DataView, at: number, count: number): Float32Array {
  const floats = new Float32Array(count)
  for (let i = 0; i < count; i++) floats[i] = view.getFloat32(at + 4 * i, true)
  return floats
}

function writeFloats(view: DataView, at: number, floats: Float32Array): void {
  for (let i = 0; i < floats.length; i++) view.setFloat32(at + 4 * i, floats[i]!, true)
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
