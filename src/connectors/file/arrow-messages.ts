import { batchesIn, messageIn } from './arrow-tables.ts'
import type { LineFileInput } from './line-folder.ts'

/** Before each message: a mark of four bytes, then the bytes of its metadata. */
const PREFIX_BYTES = 8
const MARK = 0xffffffff
/** How a file begins, filled up to a multiple of eight bytes. */
const MAGIC = 'ARROW1'
const MAGIC_BYTES = 8
/** How a file ends: the bytes of its footer, then the magic. */
const TAIL_BYTES = 10
/**
 * The messages of an Arrow file or stream, one at a time, which the library gets as a stream. The library takes a place
 * where no message is, and the end of the bytes, for the end of the rows: here both are errors. Source: "Arrow columnar format",
 * 1.5, "Serialization and interprocess communication".
 */
export class ArrowMessages {
  /** Rows that were read. */
  rows = 0
  /** Whether all messages up to the end of the file or stream were read. */
  isAtEnd = false
  private readonly input: LineFileInput
  private readonly schemaOf: (file: Uint8Array) => Uint8Array

  /** `schemaOf`: makes a message of the schema in the footer of a file without messages; some writers have it there alone. */
  constructor(input: LineFileInput, schemaOf: (file: Uint8Array) => Uint8Array) {
    this.input = input
    this.schemaOf = schemaOf
  }

  /** The messages, the schema first, and the mark of their end. Throws an `Error` where the bytes are others, or end early. */
  async *read(): AsyncGenerator<Uint8Array> {
    const size = await this.input.size()
    const isFile = text(await this.bytes(0, Math.min(MAGIC.length, size))) === MAGIC
    const end = isFile ? await this.footerStart(size) : size
    const batches = isFile ? batchesIn(await this.bytes(end, size - TAIL_BYTES - end)) : undefined
    let at = isFile ? MAGIC_BYTES : 0
    let [hasSchema, read] = [false, 0]
    while (at < end) {
      const next = await this.messageAt(at, end)
      if (next === undefined) {
        at += PREFIX_BYTES
        if (at !== end) throw new Error(`it has more behind its end at byte ${at}`)
        break
      }
      const { message, bytes } = next
      if (!hasSchema && message.kind !== 'schema') yield await this.schemaOfFooter(end, size)
      hasSchema = true
      if (message.kind === 'rows') {
        read++
        this.rows += message.rows
      }
      yield bytes
      at += bytes.length
      // A stream that was cut between two messages is known by this mark alone.
      if (at === end && !isFile) throw new Error('its mark of the end is missing')
    }
    if ((batches ?? read) !== read) throw new Error(`${read} of ${batches} batches of rows`)
    if (!hasSchema) yield await this.schemaOfFooter(end, size)
    this.isAtEnd = true
    yield END
  }

  /** The message at a byte; undefined for the mark of the end. */
  private async messageAt(at: number, end: number) {
    requireInside(at + PREFIX_BYTES, end)
    const prefix = view(await this.bytes(at, PREFIX_BYTES))
    if (prefix.getUint32(0, true) !== MARK) throw new Error(`no message begins at byte ${at}`)
    const metadataBytes = prefix.getUint32(4, true)
    if (metadataBytes === 0) return undefined
    requireInside(at + PREFIX_BYTES + metadataBytes, end)
    const message = messageIn(await this.bytes(at + PREFIX_BYTES, metadataBytes))
    const length = PREFIX_BYTES + metadataBytes + message.bodyBytes
    requireInside(at + length, end)
    return { message, bytes: await this.bytes(at, length) }
  }

  private async schemaOfFooter(end: number, size: number): Promise<Uint8Array> {
    if (end === size) throw new Error('it has no schema')
    const footer = await this.bytes(end, size - end)
    return this.schemaOf(Buffer.concat([await this.bytes(0, MAGIC_BYTES), footer]))
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
