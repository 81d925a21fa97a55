import { WeirError } from '../../core/errors.ts'
import type { WasmMemory } from '../../core/lifetime/wasm-memory.ts'
import { FIRST_FREE_ADDRESS, MAX_PAGES, PAGE_WORDS } from './layout.ts'

const FIRST_PAGES = 4
/** Memory grows by an eighth, but never by less than 1 MiB or more than 64 MiB. */
const LEAST_GROWTH_PAGES = 16
const MOST_GROWTH_PAGES = 1024

/** Words of a page of the operating system; where pages are larger, some are written more than once. */
const SYSTEM_PAGE_WORDS = 1024
/** Words of a cache line: what is allocated begins at one. */
const LINE_WORDS = 16

/** So many words as whole cache lines have. */
function lines(words: number): number {
  return Math.ceil(words / LINE_WORDS) * LINE_WORDS
}

/**
 * The shared memory of one row table as its writer sees it: views that follow growth, and a bump
 * allocator with a list of released regions (old indexes, which segments are then cut from).
 */
export class RowTableMemory {
  readonly memory: WasmMemory
  /** All words; replaced when the memory grows. */
  words: Int32Array
  floats: Float32Array
  doubles: Float64Array
  bytes: Uint8Array
  private readonly first: number
  private next: number
  private readonly released: { address: number; words: number }[] = []
  private readonly maxPages: number

  /** `reserved` words after the directory are never allocated. */
  constructor(reserved: number, maxPages: number = MAX_PAGES) {
    this.maxPages = maxPages
    this.first = FIRST_FREE_ADDRESS + lines(reserved)
    this.next = this.first
    this.memory = new WebAssembly.Memory({ initial: FIRST_PAGES, maximum: maxPages, shared: true })
    const buffer = this.memory.buffer
    this.words = new Int32Array(buffer)
    this.floats = new Float32Array(buffer)
    this.doubles = new Float64Array(buffer)
    this.bytes = new Uint8Array(buffer)
    this.reserve(this.first)
  }

  /** Bytes allocated so far, besides control page, directory and reserved words. */
  get allocatedBytes(): number {
    let released = 0
    for (const region of this.released) released += region.words
    return (this.next - this.first - released) * 4
  }

  /** Fresh zeroed words, 64-byte aligned. Throws OUT_OF_ROW_MEMORY at the memory's limit. */
  allocate(count: number): number {
    const address = this.allocateUntouched(count)
    this.touch(address, count)
    return address
  }

  /** As `allocate`; the caller calls `touch` before it reads the words. */
  allocateUntouched(count: number): number {
    const words = lines(count)
    const address = this.next
    this.reserve(address + words)
    this.next = address + words
    return address
  }

  /**
   * Writes a zero to each page that begins in these fresh words, so that the kernel backs it. A page that
   * is read first becomes the one page of zeros that all share; the first write then replaces it, for
   * which the kernel interrupts every processor that runs this process. `Atomics.add` reads first.
   */
  touch(address: number, count: number): void {
    const first = Math.ceil(address / SYSTEM_PAGE_WORDS) * SYSTEM_PAGE_WORDS
    for (let at = first; at < address + count; at += SYSTEM_PAGE_WORDS) this.words[at] = 0
  }

  /** As `allocate`, but out of a released region where one is large enough. */
  allocateReleased(count: number): number {
    const words = lines(count)
    for (const region of this.released) {
      if (region.words < words) continue
      const address = region.address
      region.address += words
      region.words -= words
      this.words.fill(0, address, address + words)
      return address
    }
    return this.allocate(words)
  }

  /** Whether `allocateReleased(count)` would succeed. */
  hasRoomFor(count: number): boolean {
    const words = lines(count)
    if (this.next + words <= this.maxPages * PAGE_WORDS) return true
    return this.released.some((region) => region.words >= words)
  }

  /** Releases a region; readers must no longer depend on it. */
  release(address: number, count: number): void {
    this.released.push({ address, words: count })
  }

  private reserve(endAddress: number): void {
    if (endAddress <= this.words.length) return
    const pages = this.words.length / PAGE_WORDS
    const needed = Math.ceil(endAddress / PAGE_WORDS)
    if (needed > this.maxPages) throw outOfMemory(this.maxPages)
    const growth = Math.min(MOST_GROWTH_PAGES, Math.max(LEAST_GROWTH_PAGES, pages >>> 3))
    const target = Math.min(this.maxPages, Math.max(needed, pages + growth))
    try {
      this.memory.grow(target - pages)
    } catch (cause) {
      throw new WeirError('OUT_OF_ROW_MEMORY', 'the machine gave no more memory for a row table', {
        cause,
      })
    }
    this.refresh()
  }

  private refresh(): void {
    const buffer = this.memory.buffer
    this.words = new Int32Array(buffer)
    this.floats = new Float32Array(buffer)
    this.doubles = new Float64Array(buffer)
    this.bytes = new Uint8Array(buffer)
  }
}

function outOfMemory(maxPages: number): WeirError {
  return new WeirError(
    'OUT_OF_ROW_MEMORY',
    `a row table holds at most ${maxPages * 64} KiB; use more slots, or give the state a store to spill to`,
  )
}
