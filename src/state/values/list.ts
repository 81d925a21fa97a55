import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter, LONGEST_VARUINT, varuintBytes } from '../../core/byte-writer.ts'
import {
  copierOf,
  isKeptDecoded,
  type Serializer,
  type ValueCopier,
} from '../../core/serializer.ts'
import { ArenaElements, type ElementArena } from './element-arena.ts'

/*
 * A list, as checkpoints and stores have it: a head and, of a long list, chunks with its first elements.
 *
 *   head      elements                                       a list without chunks
 *             80 00 | varuint number of chunks | elements    chunks have the elements before these
 *   chunk     elements, at least one
 *   elements  { varuint bytes | bytes }
 *
 * No length of an element is written as 80 00, so the first form, the only one of older builds, needs no mark.
 */
const MARK = [0x80, 0x00] as const

/** Elements that stay decoded; more are packed together, which takes about a millisecond. */
export const MOST_LIVE = 1024
/** More new elements stay packed after they were written, so that no checkpoint packs them twice. */
const MOST_PACKED_TWICE = 64

const LIST_BYTES = 160
const ELEMENT_BYTES = 8

/** Bytes of the length of the element that was written last. */
let lastWidth = 1

/**
 * The head of a list in memory: the first elements packed, each preceded by its length, the later ones as
 * copies that only the list touches, or as the elements themselves where the serializer's copier shares them. The packed
 * ones may be there decoded, too. Elements of which no copy can be made are packed at once.
 */
export class ListValue {
  /** Chunks with the elements before these. */
  chunks = 0
  /** All elements, where they were packed when they were added. */
  private early: ArenaElements | undefined
  private packed: ByteWriter | undefined
  private live: unknown[] = []
  /** Whether each object of the decoded elements is copied by `{ ...element }`. */
  private areFlat = true
  private liveBytes = 0
  /** How many of the decoded elements are the packed ones; 0 where these are packed only. */
  private both = 0
  private readonly mostLive: number
  private readonly keepsDecoded: boolean

  /**
   * An empty head. With `keepsDecoded`, elements that a checkpoint has packed stay decoded, too: they take more memory, and
   * need not be decoded again. Up to `mostLive` stay decoded.
   */
  constructor(keepsDecoded = false, mostLive = MOST_LIVE) {
    this.keepsDecoded = keepsDecoded
    this.mostLive = mostLive
  }

  /** A head as `write` writes it. Throws MALFORMED_DATA. */
  static of(bytes: Uint8Array, keepsDecoded = false, mostLive = MOST_LIVE): ListValue {
    const list = new ListValue(keepsDecoded, mostLive)
    list.chunks = chunksOf(bytes)
    const packed = elementsOf(bytes)
    if (packed.length > 0) list.packedBytes(packed.length).raw(packed)
    return list
  }

  /** About how many bytes of heap the list takes. */
  get bytes(): number {
    const packed = this.early?.length ?? this.packed?.bytes.length ?? 0
    return LIST_BYTES + this.liveBytes + packed
  }

  /** As `bytes`, each element once. */
  get bytesOnce(): number {
    return this.both > 0 ? LIST_BYTES + this.liveBytes : this.bytes
  }

  /** About how many elements there are; of those that came as bytes, none until they are read. */
  get count(): number {
    return this.live.length + (this.early?.count ?? 0)
  }

  /** Appends an object packed within `arena`; false for other values, and where elements are elsewhere. */
  addEarly(serializer: Serializer<unknown>, value: unknown, arena: ElementArena): boolean {
    const isOnlyEarly = this.live.length === 0 && this.packed === undefined
    if (!isOnlyEarly || typeof value !== 'object') return false
    this.early ??= new ArenaElements(arena)
    this.early.add(serializer, value)
    return true
  }

  /** Appends a copy of a value. */
  add<T>(serializer: Serializer<T>, value: T): void {
    if (this.early !== undefined) this.leaveArena()
    if (!this.addLive(serializer, value)) {
      this.pack(serializer)
      writeElement(serializer, value, this.packedBytes(256))
    } else if (this.live.length > this.mostLive) this.pack(serializer)
  }

  /**
   * Appends values as `add` does. Those that are elements of `before` in the same order, but for one that is left out here
   * and there, count as many bytes as its mean element: a list of the best ten changes one at a time, and to look at the
   * fields of all ten would take longer than all else.
   */
  addAll<T>(serializer: Serializer<T>, values: readonly T[], before: ListValue | undefined): void {
    const known = before?.live ?? []
    const bytes = known.length === 0 ? 0 : Math.round(before!.liveBytes / known.length)
    let next = 0
    for (const value of values) {
      const at = nearestPlace(known, next, value)
      if (at < 0 || this.live.length >= MOST_LIVE) {
        this.add(serializer, value)
        continue
      }
      this.live.push(value)
      this.areFlat = false
      this.liveBytes += bytes
      next = at + 1
    }
  }

  /** To be called when the list is dropped: others may have the room of its elements. */
  drop(): void {
    this.early?.release()
  }

  /** Gives up all elements for a new chunk, packed. */
  seal(serializer: Serializer<unknown>): Uint8Array {
    this.leaveArena()
    this.pack(serializer)
    const bytes = this.packed!.toBytes()
    this.packed = undefined
    this.chunks += 1
    return bytes
  }

  /** An array of copies of the head's elements, or of the elements themselves where the serializer's copier shares them. */
  values<T>(serializer: Serializer<T>): T[] {
    this.leaveArena()
    const before = this.isDecoded ? [] : this.unpack(serializer)
    const copies = this.copies(serializer, 0)
    return before.length === 0 ? copies : before.concat(copies)
  }

  /** As `values`, of the last `count` elements; undefined where they are not all there decoded. */
  lastValues<T>(serializer: Serializer<T>, count: number): T[] | undefined {
    if (this.early !== undefined || this.packed !== undefined) return undefined
    return this.copies(serializer, Math.max(0, this.live.length - count))
  }

  /** Whether all elements are in the head, decoded, and each copy of one takes no serializer. */
  get isFlat(): boolean {
    return (
      this.chunks === 0 && this.early === undefined && this.packed === undefined && this.areFlat
    )
  }

  /** Folds copies of the last `count` elements of a list that {@link isFlat}. */
  foldLast<T, A>(count: number, add: (value: T, sum: A | undefined) => A): A | undefined {
    const live = this.live as T[]
    let sum: A | undefined
    for (let i = Math.max(0, live.length - count); i < live.length; i++) {
      sum = add(copyOfFlat(live[i]!), sum)
    }
    return sum
  }

  /** Copies of the decoded elements from a place on, or the elements themselves where the serializer's copier shares them. */
  private copies<T>(serializer: Serializer<T>, from: number): T[] {
    const copier = copierOf(serializer)
    const live = (from === 0 ? this.live : this.live.slice(from)) as T[]
    if (copier?.shares === true) return from === 0 ? live.slice() : live
    return this.areFlat ? live.map(copyOfFlat) : live.map((value) => copyOf(value, copier))
  }

  /** The head's elements themselves. */
  elements<T>(serializer: Serializer<T>): T[] {
    this.leaveArena()
    const before = this.isDecoded ? [] : this.unpack(serializer)
    const live = this.live as T[]
    return before.length === 0 ? live : before.concat(live)
  }

  /** Whether `retain` can be called: all elements are in the head, decoded. */
  get canRetain(): boolean {
    return this.chunks === 0 && this.early === undefined && this.isDecoded
  }

  /** Removes the other elements; arrays of elements that were given stay as they are. */
  retain(isKept: (element: unknown) => boolean): void {
    const before = this.live.length
    const kept = this.live.filter(isKept)
    if (kept.length === before) return
    this.live = kept
    this.liveBytes = Math.round((this.liveBytes * kept.length) / before)
    this.packed = undefined
    this.both = 0
  }

  /** Appends the head. */
  write(serializer: Serializer<unknown> | undefined, writer: ByteWriter): void {
    if (this.chunks > 0) {
      for (const byte of MARK) writer.uint8(byte)
      writer.varuint(this.chunks)
    }
    this.writeElements(serializer, writer)
  }

  /** Appends the head's elements, each preceded by its length. */
  writeElements(serializer: Serializer<unknown> | undefined, writer: ByteWriter): void {
    this.early?.write(writer)
    if (this.live.length - this.both > MOST_PACKED_TWICE) {
      if (this.keepsDecoded && this.isDecoded) this.packNew(serializer!)
      else this.pack(serializer!)
    }
    const { packed } = this
    if (packed !== undefined) writer.copy(packed.bytes, 0, packed.length)
    for (let i = this.both; i < this.live.length; i++) {
      writeElement(serializer!, this.live[i], writer)
    }
  }

  /** Gives elements that were packed when they were added bytes of their own. */
  private leaveArena(): void {
    const { early } = this
    if (early === undefined) return
    early.write(this.packedBytes(early.length))
    early.release()
    this.early = undefined
  }

  /** Whether each element is there decoded. */
  private get isDecoded(): boolean {
    return this.packed === undefined || this.both > 0
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
    if (this.areFlat) this.areFlat = copier!.isFlat === true
    this.liveBytes += ELEMENT_BYTES + copier!.bytes
    return true
  }

  /**
   * The packed elements, which the caller owns. A short list becomes decoded with the first read, and then
   * none are left here.
   */
  private unpack<T>(serializer: Serializer<T>): T[] {
    const { bytes, length } = this.packed!
    const values = valuesOf(serializer, bytes.subarray(0, length))
    if (values.length + this.live.length > this.mostLive) return values
    const decoded = new ListValue()
    if (!values.every((value) => decoded.addLive(serializer, value))) return values
    this.live = decoded.live.concat(this.live)
    this.areFlat &&= decoded.areFlat
    this.liveBytes += decoded.liveBytes
    this.packed = undefined
    return []
  }

  private pack(serializer: Serializer<unknown>): void {
    if (this.live.length === 0) return
    this.packNew(serializer)
    this.live = []
    this.areFlat = true
    this.liveBytes = 0
    this.both = 0
  }

  /** Packs the elements that are decoded only; they stay decoded. */
  private packNew(serializer: Serializer<unknown>): void {
    const { live } = this
    const packed = this.packedBytes(256)
    for (let i = this.both; i < live.length; i++) writeElement(serializer, live[i], packed)
    this.both = live.length
  }

  private packedBytes(capacity: number): ByteWriter {
    this.packed ??= new ByteWriter(capacity)
    return this.packed
  }
}

/** Where a value is in a list: at `next`, or one further; -1 if at neither. */
function nearestPlace(list: readonly unknown[], next: number, value: unknown): number {
  if (next < list.length && list[next] === value) return next
  return next + 1 < list.length && list[next + 1] === value ? next + 1 : -1
}

function copyOfFlat<T>(value: T): T {
  // The engine clones an object of a known shape in one step.
  return typeof value === 'object' && value !== null ? { ...value } : value
}

function copyOf<T>(value: T, copier: ValueCopier<T> | undefined): T {
  return typeof value === 'object' && value !== null ? copier!.copy(value)! : value
}

/** How many chunks are before a head. Throws MALFORMED_DATA. */
export function chunksOf(head: Uint8Array): number {
  return hasMark(head) ? new ByteReader(head, MARK.length).varuint() : 0
}

/** The elements within a head, a view. Throws MALFORMED_DATA. */
export function elementsOf(head: Uint8Array): Uint8Array {
  if (!hasMark(head)) return head
  const reader = new ByteReader(head, MARK.length)
  reader.varuint()
  return reader.raw(reader.remaining)
}

/** The values of packed elements; the caller owns them. Throws MALFORMED_DATA. */
export function valuesOf<T>(serializer: Serializer<T>, packed: Uint8Array): T[] {
  const reader = new ByteReader(packed)
  const values: T[] = []
  while (reader.remaining > 0) values.push(serializer.read(new ByteReader(reader.sized())))
  return values
}

function hasMark(head: Uint8Array): boolean {
  return head[0] === MARK[0] && head[1] === MARK[1]
}

/** Appends a head or a chunk with its elements written by `rewrite`, which gets the bytes of each. Throws MALFORMED_DATA. */
export function rewriteElements(
  list: Uint8Array,
  writer: ByteWriter,
  rewrite: (element: Uint8Array, writer: ByteWriter) => void,
): void {
  const elements = elementsOf(list)
  writer.raw(list.subarray(0, list.length - elements.length))
  const reader = new ByteReader(elements)
  const element = new ByteWriter(256)
  while (reader.remaining > 0) {
    element.reset()
    rewrite(reader.sized(), element)
    writer.sized(element.bytes.subarray(0, element.length))
  }
}

/** Appends a value preceded by its length. */
function writeElement(serializer: Serializer<unknown>, value: unknown, writer: ByteWriter): void {
  const start = writer.length
  // Most elements of a list have lengths of as many bytes: such a one is written where it stays.
  const width = lastWidth
  // Room for any length: growing keeps only what is before `length`.
  writer.reserve(LONGEST_VARUINT)
  writer.length = start + width
  try {
    serializer.write(value, writer)
  } catch (error) {
    writer.length = start
    throw error
  }
  const end = writer.length
  const length = end - start - width
  lastWidth = varuintBytes(length)
  if (lastWidth !== width) moveBytes(writer, start + width, lastWidth - width)
  writer.length = start
  writer.varuint(length)
  writer.length = end + lastWidth - width
}

/** Moves what was written from `start` on by so many bytes. */
function moveBytes(writer: ByteWriter, start: number, by: number): void {
  const { length } = writer
  writer.reserve(by)
  writer.bytes.copyWithin(start + by, start, length)
}
