import { ByteWriter, LONGEST_VARUINT, varuintBytes } from '../../core/byte-writer.ts'
import type { Serializer } from '../../core/serializer.ts'

/** Bytes in which the elements of a slab begin; the last one may end behind them. */
const SLAB = 64 * 1024
/** Bytes of a slab that no element begins in. */
const LEAST_LEFT = 256
/** Before the bytes of an element: where the one before it is, and how many there are. */
const HEADER = 8
/** No element is here. */
const NOWHERE = 0
/** Elements are found by 32 bits. */
const MOST_SLABS = 2 ** 32 / SLAB
/** An arena with fewer slabs left is full: some elements more may still come, each with a slab of its own. */
const SPARE_SLABS = 2048

/** Some bytes of elements, in which others are, too. */
class Slab {
  readonly writer = new ByteWriter(SLAB)
  /** Elements that are there. */
  elements = 0
  /** Where the next one begins. */
  used = HEADER
}

/**
 * Packed elements of many lists in a few arrays, in the order in which they are added: no list needs an array of its
 * own, which would take 300 bytes more than what it holds, or room for what may follow. A slab is
 * used again once none of its elements is left, so the code that drops a list has to `release` its elements.
 */
export class ElementArena {
  private readonly slabs: (Slab | undefined)[] = []
  private readonly free: number[] = []
  private current = 0
  /** Bytes of the last element. */
  private lastSize = 0

  /** Whether hardly any room is left: some 2,000 elements fit in any case. */
  get isFull(): boolean {
    return this.slabs.length - this.free.length > MOST_SLABS - SPARE_SLABS
  }

  /** Bytes that all elements take, with the room that is left. */
  get bytes(): number {
    let bytes = 0
    for (const slab of this.slabs) bytes += slab?.writer.bytes.length ?? 0
    return bytes
  }

  /** Packs an element and appends it. */
  add(serializer: Serializer<unknown>, value: unknown, to: ArenaElements): void {
    const slab = this.slabToAdd()
    const { writer, used } = slab
    writer.length = used + HEADER
    serializer.write(value, writer)
    const end = writer.length
    const size = end - used - HEADER
    writer.length = used
    writer.uint32(to.last)
    writer.uint32(size)
    slab.used = end
    slab.elements += 1
    this.lastSize = size
    to.last = this.current * SLAB + used
    to.count += 1
    to.length += varuintBytes(size) + size
  }

  /** Appends elements, each preceded by its length. */
  write(elements: ArenaElements, writer: ByteWriter): void {
    // A length is written with room for the longest one.
    writer.reserve(elements.length + LONGEST_VARUINT)
    const end = writer.length + elements.length
    // From the last one to the first one: each knows the one before it.
    let before = end
    for (let place = elements.last; place !== NOWHERE; ) {
      const { bytes } = this.slabs[Math.floor(place / SLAB)]!.writer
      const at = place % SLAB
      const size = uint32At(bytes, at + 4)
      before -= varuintBytes(size) + size
      writer.length = before
      writer.varuint(size)
      writer.copy(bytes, at + HEADER, size)
      place = uint32At(bytes, at)
    }
    writer.length = end
  }

  /** Gives up elements. */
  release(elements: ArenaElements): void {
    for (let place = elements.last; place !== NOWHERE; ) {
      const number = Math.floor(place / SLAB)
      const slab = this.slabs[number]!
      place = uint32At(slab.writer.bytes, place % SLAB)
      slab.elements -= 1
      if (slab.elements > 0) continue
      if (number === this.current) slab.used = HEADER
      else {
        this.slabs[number] = undefined
        this.free.push(number)
      }
    }
  }

  private slabToAdd(): Slab {
    const slab = this.slabs[this.current] ?? this.nextSlab()
    if (slab.used + Math.max(LEAST_LEFT, 2 * this.lastSize) <= SLAB) return slab
    return slab.elements === 0 ? slab : this.nextSlab()
  }

  private nextSlab(): Slab {
    const slab = new Slab()
    this.current = this.free.pop() ?? this.slabs.length
    this.slabs[this.current] = slab
    return slab
  }
}

/** The elements of one list within an arena. */
export class ArenaElements {
  count = 0
  /** Bytes that they take as a checkpoint has them. */
  length = 0
  /** Where the last one is; it knows where the one before it is. */
  last = NOWHERE
  private readonly arena: ElementArena

  constructor(arena: ElementArena) {
    this.arena = arena
  }

  /** Packs an element and appends it. */
  add(serializer: Serializer<unknown>, value: unknown): void {
    this.arena.add(serializer, value, this)
  }

  /** Appends the elements, each preceded by its length. */
  write(writer: ByteWriter): void {
    this.arena.write(this, writer)
  }

  /** Gives up the elements; they are not to be used afterwards. */
  release(): void {
    this.arena.release(this)
  }
}

function uint32At(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0
  )
}
