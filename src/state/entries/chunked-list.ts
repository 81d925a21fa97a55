/** Bits of a position within a chunk. */
const BITS = 11
const CHUNK = 1 << BITS
const WITHIN = CHUNK - 1
const FIRST = 16

type Chunk<T> = (T | undefined)[]

/**
 * A list in arrays of 2,048 elements. One large array is copied when it grows, and what it leaves stays in memory until the
 * engine next collects old objects; and it has room for a half more.
 */
export class ChunkedList<T> {
  length = 0
  private readonly chunks: Chunk<T>[] = []

  /** The element at a position, which must be below `length`. */
  at(position: number): T {
    return this.chunks[position >>> BITS]![position & WITHIN]!
  }

  /** Replaces the element at a position below `length`. */
  set(position: number, element: T): void {
    this.chunks[position >>> BITS]![position & WITHIN] = element
  }

  push(element: T): void {
    const { length, chunks } = this
    const at = length >>> BITS
    if (at === chunks.length) chunks.push(emptyChunk(at === 0 ? FIRST : CHUNK))
    else if (length === chunks[at]!.length) chunks[at] = grown(chunks[at]!)
    chunks[at]![length & WITHIN] = element
    this.length = length + 1
  }

  /** Removes the last element and returns it; there must be one. */
  pop(): T {
    this.length -= 1
    const { length, chunks } = this
    const chunk = chunks[length >>> BITS]!
    const element = chunk[length & WITHIN]!
    chunk[length & WITHIN] = undefined
    // One chunk more than needed stays, for a list that grows and shrinks.
    if (chunks.length > (length >>> BITS) + 2) chunks.pop()
    return element
  }

  /** Removes all elements; the list keeps the room that they took. */
  clear(): void {
    this.chunks.length = Math.ceil(this.length / CHUNK)
    for (const chunk of this.chunks) chunk.fill(undefined)
    this.length = 0
  }

  /** The elements in order; the list may change meanwhile. */
  *[Symbol.iterator](): IterableIterator<T> {
    for (let i = 0; i < this.length; i++) yield this.at(i)
  }
}

function emptyChunk<T>(size: number): Chunk<T> {
  return new Array<T | undefined>(size).fill(undefined)
}

/** The first chunk of a list, twice as large. */
function grown<T>(chunk: Chunk<T>): Chunk<T> {
  const larger = emptyChunk<T>(chunk.length * 2)
  for (let i = 0; i < chunk.length; i++) larger[i] = chunk[i]
  return larger
}
