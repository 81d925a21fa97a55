import { keyGroupOfHash } from '../../core/key-group.ts'
import type { KeyedEntry } from '../entries/keyed-entry.ts'
import { prefixHash } from '../port/entry-hash.ts'
import type { KeysAhead } from '../port/keyed-input.ts'
import { StoredAhead } from './stored-ahead.ts'
import type { StateTable } from './table.ts'

/** Most keys read together. */
const MOST = 16
/** Smaller tables are in the processor's cache anyway. */
const FEWEST = 16_384
const NO_NAMESPACE = new Uint8Array(0)

/**
 * Loads the entries of the next keys into the processor's cache: first the buckets of all of them, then
 * the entries, then the keys. One key after the other would wait for memory three times each. Entries that
 * are in the store come into memory by one read for all. A hint alone: no result depends on it.
 */
export class TypedReadAhead {
  private readonly maxParallelism: number
  private readonly stored: StoredAhead
  private readonly found: (KeyedEntry | null)[] = new Array<KeyedEntry | null>(MOST).fill(null)
  private readonly hashes = new Int32Array(MOST)
  /** Depends on what was read, so that the compiler does not remove the reads. */
  seen = 0

  constructor(maxParallelism: number) {
    this.maxParallelism = maxParallelism
    this.stored = new StoredAhead(maxParallelism, MOST)
  }

  /** Loads what the table holds of the keys in the default namespace. */
  read(tables: readonly StateTable[], keys: KeysAhead): void {
    for (const table of tables) {
      if (table.kind === 'map' || table.kind === 'timers') continue
      if (table.entries.length >= FEWEST) this.touch(table, keys)
      if (this.stored.isWanted(table, keys.count)) this.stored.read(table, keys)
    }
  }

  private touch(table: StateTable, keys: KeysAhead): void {
    const { found, hashes, maxParallelism } = this
    const count = Math.min(keys.count, MOST)
    let seen = 0
    for (let i = 0; i < count; i++) {
      found[i] = null
      // What a frequent key remembers was used a moment ago.
      if (keys.frequent[i] !== undefined) continue
      const keyHash = keys.hashes[i]!
      const hash = prefixHash(keyHash, NO_NAMESPACE)
      hashes[i] = hash
      found[i] = table.index.headOf(keyGroupOfHash(keyHash, maxParallelism), hash)
    }
    for (let i = 0; i < count; i++) {
      const entry = found[i]!
      if (entry !== null && entry.hash !== hashes[i]!) found[i] = entry.next
    }
    for (let i = 0; i < count; i++) {
      const entry = found[i]!
      if (entry !== null) seen ^= entry.touch()
    }
    this.seen = seen
  }
}
