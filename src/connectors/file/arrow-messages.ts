import type { LineFileInput } from './line-folder.ts'

/** Before each message: a mark of four bytes, then the bytes of its metadata. */
const PREFIX_BYTES = 8
const MARK = 0xffffffff
/** How a file begins, filled up to a multiple of eight bytes. */
const MAGIC = 'ARROW1'
const MAGIC_BYTES = 8
/** How a file ends: the bytes of its footer, then the magic. */
const TAIL_BYTES = 10
/** Fields of a message in its table: the kind of its header, and the bytes of its body. */
const KIND_FIELD = 1
const BODY_FIELD = 3
/** The kind of a batch of rows. */
const BATCH = 3

/**
 * The messages of an Arrow file or stream, one at a time, which the library gets as a stream. The library takes a place
 * where no message is, and the end of the bytes, for the end of the rows: here both are errors. Source: "Arrow columnar format",
 * 1.5, "Serialization and interprocess communication".
 */
export class ArrowMessages {
  /** Batches of rows that were read. */
  batches = 0
  /** Whether all messages up to the end of the file or stream were read. */
  isAtEnd = false
  private readonly input: LineFileInput

  constructor(input: LineFileInput) {
    this.input = input
  }

  /** The messages, and the mark of their end. Throws an `Error` where the bytes are others, or end early. */
  async *read(): AsyncGenerator<Uint8Array> {
    const size = await this.input.size()
    const isFile = text(await this.bytes(0, Math.min(MAGIC.length, size))) === MAGIC
    const end = isFile ? await this.footerStart(size) : size
    let at = isFile ? MAGIC_BYTES : 0
    while (at < end) {
      requireInside(at + PREFIX_BYTES, end)
      const prefix = view(await this.bytes(at, PREFIX_BYTES))
      if (prefix.getUint32(0, true) !== MARK) throw new Error(`no message begins at byte ${at}`)
      const metadataBytes = prefix.getUint32(4, true)
      at += PREFIX_BYTES
      if (metadataBytes === 0) {
        if (at !== end) throw new Error(`it has more behind its end at byte ${at}`)
        break
      }
      requireInside(at + metadataBytes, end)
      const { kind, bodyBytes } = headOf(await this.bytes(at, metadataBytes))
      const bytes = metadataBytes + bodyBytes
      requireInside(at + bytes, end)
      if (kind === BATCH) this.batches++
      yield await this.bytes(at - PREFIX_BYTES, PREFIX_BYTES + bytes)
      at += bytes
      // A stream that was cut between two messages is known by this mark alone.
      if (at === end && !isFile) throw new Error('its mark of the end is missing')
    }
    this.isAtEnd = true
    yield END
  }

  private async footerStart(size: number): Promise<number> {
    requireInside(MAGIC_BYTES + TAIL_BYTES, size)
    const tail = await this.bytes(size - TAIL_BYTES, TAIL_BYTES)
    if (text(tail.subarray(4)) !== MAGIC) throw new Error('its end is missing')
    const start = size - TAIL_BYTES - view(tail).getUint32(0, true)
    if (start < MAGIC_BYTES) throw new Error('its footer begins before it')
    return start
  }

  private async bytes(start: number, length: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(length)
    for (let at = 0; at < length; ) {
      const read = await this.input.read(bytes.subarray(at), start + at)
      if (read === 0) throw new Error(`it ends at byte ${start + at}`)
      at += read
    }
    return bytes
  }
}

/** The mark behind the last message. */
const END = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0)

function requireInside(place: number, end: number): void {
  if (place > end) throw new Error(`it ends at byte ${end}, within a message`)
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')

const view = (bytes: Uint8Array): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** The kind of a message and the bytes of its body, of the table (a flatbuffer) that is its metadata. */
function headOf(metadata: Uint8Array): { readonly kind: number; readonly bodyBytes: number } {
  const table = view(metadata)
  const root = table.getUint32(0, true)
  const fields = root - table.getInt32(root, true)
  const placeOf = (field: number): number => {
    const at = 4 + 2 * field
    const offset = at < table.getUint16(fields, true) ? table.getUint16(fields + at, true) : 0
    return offset === 0 ? 0 : root + offset
  }
  const [kind, body] = [placeOf(KIND_FIELD), placeOf(BODY_FIELD)]
  const bodyBytes = body === 0 ? 0 : Number(table.getBigInt64(body, true))
  if (bodyBytes < 0) throw new Error(`a message of ${bodyBytes} bytes`)
  return { kind: kind === 0 ? 0 : table.getUint8(kind), bodyBytes }
}
