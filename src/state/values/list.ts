import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import {
  copierOf,
  isKeptDecoded,
  type Serializer,
  type ValueCopier,
} from '../../core/serializer.ts'

/** Elements that stay decoded; more are packed together, which takes about a millisecond. */
export const MOST_LIVE = 1024
/** A longer list stays packed after it was written, so that no checkpoint packs its elements twice. */
const MOST_PACKED_TWICE = 64

const LIST_BYTES = 160
const ELEMENT_BYTES = 8

const element = new ByteWriter(256)

/**
 * The elements of a list in memory: the first ones packed, each preceded by its length, the later ones as
 * copies that only the list touches, or as the elements themselves where the serializer's copier shares them. Elements of which no copy can be made are packed at once.
 */
export class ListValue {
  /** Heap bytes for which the table has counted the list. */
  counted = 0
  private packed: ByteWriter | undefined
  private live: unknown[] = []
  private liveBytes = 0

  /** A list of elements that are packed already, as `write` packs them. */
  static of(packed: Uint8Array): ListValue {
    const list = new ListValue()
    if (packed.length > 0) list.packedBytes(packed.length).raw(packed)
    return list
  }

  /** About how many bytes of heap the list takes. */
  get bytes(): number {
    return LIST_BYTES + this.liveBytes + (this.packed?.bytes.length ?? 0)
  }

  /** Appends a copy of a value. */
  add<T>(serializer: Serializer<T>, value: T): void {
    if (!this.addLive(serializer, value)) {
      this.pack(serializer)
      writeElement(serializer, value, this.packedBytes(256))
    } else if (this.live.length > MOST_LIVE) this.pack(serializer)
  }

  /** An array of copies of all elements, or of the elements themselves where the serializer's copier shares them. */
  values<T>(serializer: Serializer<T>): T[] {
    const copier = copierOf(serializer)
    const before = this.packed === undefined ? [] : this.unpack(serializer)
    const live = this.live as T[]
    const copies =
      copier?.shares === true ? live.slice() : live.map((value) => copyOf(value, copier))
    return before.length === 0 ? copies : before.concat(copies)
  }

  /** Appends all elements, each preceded by its length. */
  write(serializer: Serializer<unknown> | undefined, writer: ByteWriter): void {
    if (this.live.length > MOST_PACKED_TWICE) this.pack(serializer!)
    const { packed } = this
    if (packed !== undefined) writer.copy(packed.bytes, 0, packed.length)
    for (const value of this.live) writeElement(serializer!, value, writer)
  }

  /** Appends a copy to the decoded elements; false if none can be made. */
  private addLive<T>(serializer: Serializer<T>, value: T): boolean {
    if (isKeptDecoded(serializer.id, value)) {
      this.live.push(value)
      this.liveBytes += ELEMENT_BYTES + (typeof value === 'string' ? 24 + value.length : 0)
      return true
    }
    const copier = copierOf(serializer)
    const copy = copier?.copy(value)
    if (copy === undefined) return false
    this.live.push(copy)
    this.liveBytes += ELEMENT_BYTES + copier!.bytes
    return true
  }

  /**
   * The packed elements, which the caller owns. A short list becomes decoded with the first read, and then
   * none are left here.
   */
  private unpack<T>(serializer: Serializer<T>): T[] {
    const { bytes, length } = this.packed!
    const reader = new ByteReader(bytes, 0, length)
    const values: T[] = []
    while (reader.remaining > 0) values.push(serializer.read(new ByteReader(reader.sized())))
    if (values.length + this.live.length > MOST_LIVE) return values
    const decoded = new ListValue()
    if (!values.every((value) => decoded.addLive(serializer, value))) return values
    this.live = decoded.live.concat(this.live)
    this.liveBytes += decoded.liveBytes
    this.packed = undefined
    return []
  }

  private pack(serializer: Serializer<unknown>): void {
    if (this.live.length === 0) return
    const packed = this.packedBytes(256)
    for (const value of this.live) writeElement(serializer, value, packed)
    this.live = []
    this.liveBytes = 0
  }

  private packedBytes(capacity: number): ByteWriter {
    this.packed ??= new ByteWriter(capacity)
    return this.packed
  }
}

function copyOf<T>(value: T, copier: ValueCopier<T> | undefined): T {
  return typeof value === 'object' && value !== null ? copier!.copy(value)! : value
}

function writeElement(serializer: Serializer<unknown>, value: unknown, writer: ByteWriter): void {
  element.reset()
  serializer.write(value, element)
  writer.varuint(element.length)
  writer.copy(element.bytes, 0, element.length)
}
