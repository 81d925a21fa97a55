import { murmur3 } from '../../core/hash/murmur3.ts'
import { writeEscaped } from '../port/composite-key.ts'
import type { KeysAhead } from '../port/keyed-input.ts'
import type { KeyedEntry } from './keyed-entry.ts'
import type { StateTable } from './table.ts'

/** Most keys read together; there are no hashes of further ones. */
const MOST = 16
/** Smaller tables are in the processor's cache anyway. */
const FEWEST = 16_384

/**
 * Loads the entries of the next keys into the processor's cache: first the buckets of all of them, then
 * the entries, then the keys. One key after the other would wait for memory three times each. A hint
 * alone: no result depends on it.
 */
export class TypedReadAhead {
  private readonly maxParallelism: number
  private readonly found: (KeyedEntry | null)[] = new Array<KeyedEntry | null>(MOST).fill(null)
  /** Hashes of the last keys' prefixes in the default namespace, where `hasHashes`. */
  readonly hashes = new Int32Array(MOST)
  /** Whether the last read needed hashes. */
  hasHashes = false
  private scratch = new Uint8Array(256)
  /** Depends on what was read, so that the compiler does not remove the reads. */
  seen = 0

  constructor(maxParallelism: number) {
    this.maxParallelism = maxParallelism
  }

  /** Loads what the table holds of the keys in the default namespace. */
  read(tables: readonly StateTable[], keys: KeysAhead): void {
    this.hasHashes = false
    for (const table of tables) {
      if (table.entries.length < FEWEST || table.kind === 'map' || table.kind === 'timers') continue
      if (!this.hasHashes) this.hash(keys)
      this.hasHashes = true
      this.touch(table, keys)
    }
  }

  private hash({ bytes, keyStarts, keyLengths, count }: KeysAhead): void {
    for (let i = 0; i < count && i < MOST; i++) {
      const length = keyLengths[i]!
      if (this.scratch.length < length * 2 + 4) this.scratch = new Uint8Array(length * 4 + 4)
      const { scratch } = this
      const start = keyStarts[i]!
      const end = writeEscaped(
        NO_NAMESPACE,
        scratch,
        writeEscaped(bytes, scratch, 0, start, length),
      )
      this.hashes[i] = murmur3(scratch, 0, end)
    }
  }

  private touch(table: StateTable, keys: KeysAhead): void {
    const { found, hashes, maxParallelism } = this
    const count = Math.min(keys.count, MOST)
    let seen = 0
    for (let i = 0; i < count; i++) {
      found[i] = table.headOf((keys.hashes[i]! >>> 0) % maxParallelism, hashes[i]!)
    }
    for (let i = 0; i < count; i++) {
      const entry = found[i]!
      if (entry !== null && entry.hash !== hashes[i]!) found[i] = entry.next
    }
    for (let i = 0; i < count; i++) {
      const entry = found[i]!
      if (entry !== null) seen ^= entry.epoch ^ entry.key.charCodeAt(0)
    }
    this.seen = seen
  }
}

const NO_NAMESPACE = new Uint8Array(0)
