import { Readable, type Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import zlib from 'node:zlib'
import { messageOf, WeirError } from '../../core/errors.ts'
import {
  BLOCK_HEADER_BYTES,
  zstdBlock,
  zstdChecksumBytes,
  zstdHeaderBytes,
} from '../../wire/batch/zstd-frame.ts'
import { FORMAT_BYTES, refuseForeignFormat } from './foreign-formats.ts'

/** Bytes of the magic number of a frame, and of the flags behind it. */
const PREFIX_BYTES = 5
/** Bytes of the header of a frame that is passed over: a magic number and a length. */
const SKIPPED_HEADER_BYTES = 8

/**
 * The bytes of a zstd file, cut where a frame ends (RFC 8878). Node's stream passes over what follows a frame in the same
 * piece, without an error: of a file of several frames, as `pzstd` and `cat` make them, most would be missing.
 */
export async function* zstdFrames(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const walk = new FrameWalk()
  for await (const piece of pieces) {
    for (let from = 0; from < piece.length; ) {
      const to = walk.end(piece, from)
      yield piece.subarray(from, to)
      from = to
    }
  }
}

/** Follows the headers of frames and blocks, which may be in several pieces. */
class FrameWalk {
  /** The header that is being read. */
  private header: number[] = []
  /** Bytes that are passed over before the next header. */
  private left = 0
  private isInFrame = false
  /** Whether the frame ends behind what is passed over. */
  private isLast = false
  private checksumBytes = 0

  /** The end of the frame in a piece, from a place in it; that of the piece if the frame goes on. */
  end(piece: Uint8Array, from: number): number {
    for (let at = from; at < piece.length; ) {
      if (this.left === 0) {
        this.header.push(piece[at++]!)
        if (this.header.length < this.headerBytes()) continue
        this.readHeader()
      }
      const passed = Math.min(this.left, piece.length - at)
      this.left -= passed
      at += passed
      if (this.left > 0 || !this.isLast) continue
      this.isInFrame = false
      this.isLast = false
      return at
    }
    return piece.length
  }

  private headerBytes(): number {
    if (this.isInFrame) return BLOCK_HEADER_BYTES
    if (this.isSkipped()) return SKIPPED_HEADER_BYTES
    const [, , , , flags] = this.header
    return flags === undefined ? PREFIX_BYTES : zstdHeaderBytes(flags)
  }

  /** Whether the header is that of a frame without data, as `pzstd` writes them for itself. */
  private isSkipped(): boolean {
    const [first = 0, second, third, fourth] = this.header
    return (first & 0xf0) === 0x50 && second === 0x2a && third === 0x4d && fourth === 0x18
  }

  private readHeader(): void {
    const { header } = this
    const isSkipped = this.isSkipped()
    this.header = []
    if (this.isInFrame) {
      const { bytes, isLast } = zstdBlock(header[0]! | (header[1]! << 8) | (header[2]! << 16))
      this.isLast = isLast
      this.left = bytes + (isLast ? this.checksumBytes : 0)
    } else if (isSkipped) {
      this.isLast = true
      this.left = new DataView(Uint8Array.from(header).buffer).getUint32(4, true)
    } else {
      this.isInFrame = true
      this.checksumBytes = zstdChecksumBytes(header[4]!)
    }
  }
}

/** A way to pack a file, how it begins, and what tests and unpacks it. */
interface Packing {
  readonly magic: readonly number[]
  readonly test: string
  unpack(): Transform
  /** The pieces of the file as the stream takes them. */
  cut(pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>
}

const PACKINGS: readonly Packing[] = [
  { magic: [0x1f, 0x8b], test: 'gzip -t', unpack: zlib.createGunzip, cut: (pieces) => pieces },
  {
    magic: [0x28, 0xb5, 0x2f, 0xfd],
    test: 'zstd -t',
    // A named import would end an older Node before the sentence that says that it is too old.
    unpack: zlib.createZstdDecompress,
    cut: zstdFrames,
  },
]

const BYTE_ORDER_MARKS = [
  { mark: [0xff, 0xfe], encoding: 'utf-16le' },
  { mark: [0xfe, 0xff], encoding: 'utf-16be' },
] as const

/**
 * The lines of a file as bytes of UTF-8: unpacked if they are gzip or zstd, and recoded if they are UTF-16 with a byte
 * order mark. The first bytes decide, whatever the file's name. Throws MALFORMED_DATA for a file that is damaged or cut
 * off, and for one of a format that has no lines (`refuseForeignFormat`).
 */
export async function* decoded(
  pieces: AsyncIterable<Uint8Array>,
  place: string,
): AsyncGenerator<Uint8Array> {
  yield* continued(pieces, (head, all) => {
    const packing = PACKINGS.find(({ magic }) => beginsWith(head, magic))
    return packing === undefined
      ? text(head, all, place)
      : continued(unpacked(all, packing, place), (inner, rest) => text(inner, rest, place))
  })
}

/** The text of a file that is not packed, as UTF-8. */
function text(
  head: Uint8Array,
  all: AsyncIterable<Uint8Array>,
  place: string,
): AsyncIterable<Uint8Array> {
  const order = BYTE_ORDER_MARKS.find(({ mark }) => beginsWith(head, mark))
  if (order !== undefined) return recoded(all, order.encoding, place)
  refuseForeignFormat(head, place)
  return all
}

function beginsWith(head: Uint8Array, bytes: readonly number[]): boolean {
  return bytes.every((byte, at) => head[at] === byte)
}

/** What `read` makes of some pieces, once their first bytes are known. */
async function* continued(
  pieces: AsyncIterable<Uint8Array>,
  read: (head: Uint8Array, all: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const source = pieces[Symbol.asyncIterator]()
  try {
    const head = await firstBytes(source)
    yield* read(head, after(head, source))
  } finally {
    await source.return?.()
  }
}

/** The first bytes, as many as decide or more; fewer only if there are no more. A copy. */
async function firstBytes(source: AsyncIterator<Uint8Array>): Promise<Uint8Array> {
  let head = Buffer.alloc(0)
  while (head.length < FORMAT_BYTES) {
    const next = await source.next()
    if (next.done === true) break
    head = Buffer.concat([head, next.value])
  }
  return head
}

async function* after(
  head: Uint8Array,
  source: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  if (head.length > 0) yield head
  for (;;) {
    const next = await source.next()
    if (next.done === true) return
    yield next.value
  }
}

async function* unpacked(
  pieces: AsyncIterable<Uint8Array>,
  { unpack, test, cut }: Packing,
  place: string,
): AsyncGenerator<Uint8Array> {
  const unpacker = unpack()
  const done = pipeline(Readable.from(copies(cut(pieces)), { objectMode: false }), unpacker)
  // The reading below throws the same error.
  done.catch(() => undefined)
  try {
    for await (const piece of unpacker) yield piece as Uint8Array
  } catch (cause) {
    if (!isZlibError(cause)) throw cause
    throw new WeirError(
      'MALFORMED_DATA',
      `${place} is not whole: ${messageOf(cause)}; test it with "${test}"`,
      { cause, details: { path: place } },
    )
  } finally {
    unpacker.destroy()
    await done.catch(() => undefined)
  }
}

/** The stream keeps pieces longer than they are valid. */
async function* copies(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) yield piece.slice()
}

function isZlibError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^(Z_|ZSTD_)/.test(String(error.code))
}

async function* recoded(
  pieces: AsyncIterable<Uint8Array>,
  encoding: 'utf-16le' | 'utf-16be',
  place: string,
): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder(encoding, { fatal: true })
  const encoder = new TextEncoder()
  try {
    for await (const piece of pieces) yield encoder.encode(decoder.decode(piece, { stream: true }))
    yield encoder.encode(decoder.decode())
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause
    throw new WeirError(
      'MALFORMED_DATA',
      `${place} begins as ${encoding.toUpperCase()} and is none; convert it to UTF-8`,
      { cause, details: { path: place } },
    )
  }
}
