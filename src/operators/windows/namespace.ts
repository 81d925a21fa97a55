import { ByteWriter } from '../../core/byte-writer.ts'
import { WeirError } from '../../core/errors.ts'
import type { TimeWindow } from './assigner.ts'

/*
 * A window as the namespace of keyed state:
 *
 *   | start: int64 little-endian, ms | end: int64 little-endian, ms |
 */

/** Bytes of a window's namespace. */
const WINDOW_NAMESPACE_BYTES = 16

/** The namespace outside all windows. */
export const NO_NAMESPACE = new Uint8Array(0)

const MOST_CACHED = 256

/** A window with its namespace. */
interface NamedWindow extends TimeWindow {
  readonly bytes: Uint8Array
}

/** An encoder of windows with a cache, because neighbouring records have the same windows. */
export class WindowNamespaces {
  private readonly writer = new ByteWriter(WINDOW_NAMESPACE_BYTES)
  private readonly scratch = new Uint8Array(WINDOW_NAMESPACE_BYTES)
  private readonly byStart = new Map<number, NamedWindow>()
  /** The window of the last look; at first one that none is. */
  private last: NamedWindow = { start: 0, end: -1, bytes: NO_NAMESPACE }

  /** The namespace of `start <= t < end`; a caller must not write to it. */
  of(start: number, end: number): Uint8Array {
    const { last } = this
    if (last.start === start && last.end === end) return last.bytes
    const known = this.byStart.get(start)
    this.last = known !== undefined && known.end === end ? known : this.create(start, end)
    return this.last.bytes
  }

  private create(start: number, end: number): NamedWindow {
    this.writer.reset()
    this.writer.int53(start)
    this.writer.int53(end)
    const window = { start, end, bytes: this.writer.toBytes() }
    if (this.byStart.size >= MOST_CACHED) this.byStart.clear()
    this.byStart.set(start, window)
    return window
  }

  /**
   * As `of`, for windows such as sessions, of which each key has its own: in bytes that the next call overwrites,
   * so that no record needs an allocation.
   */
  shortLived(start: number, end: number): Uint8Array {
    writeInt53(start, this.scratch, 0)
    writeInt53(end, this.scratch, 8)
    return this.scratch
  }
}

/** The window of a namespace. Throws MALFORMED_DATA unless it has 16 bytes. */
export function windowOfNamespace(bytes: Uint8Array): TimeWindow {
  if (bytes.length !== WINDOW_NAMESPACE_BYTES) {
    throw new WeirError(
      'MALFORMED_DATA',
      `a window's namespace has ${WINDOW_NAMESPACE_BYTES} bytes, not ${bytes.length}`,
    )
  }
  return { start: readInt53(bytes, 0), end: readInt53(bytes, 8) }
}

function writeInt53(value: number, bytes: Uint8Array, at: number): void {
  const high = Math.floor(value / 4294967296)
  writeInt32(value - high * 4294967296, bytes, at)
  writeInt32(high, bytes, at + 4)
}

function writeInt32(value: number, bytes: Uint8Array, at: number): void {
  bytes[at] = value
  bytes[at + 1] = value >>> 8
  bytes[at + 2] = value >>> 16
  bytes[at + 3] = value >>> 24
}

/** Reads an int64 without a DataView, which would cost more than the rest of firing a timer. */
function readInt53(bytes: Uint8Array, at: number): number {
  return readInt32(bytes, at + 4) * 4294967296 + (readInt32(bytes, at) >>> 0)
}

function readInt32(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
}
