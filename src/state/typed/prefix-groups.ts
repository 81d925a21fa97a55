import { bytesOfLatin1 } from '../../core/text/latin1.ts'
import type { KeyedEntry } from '../entries/keyed-entry.ts'
import { prefixLength } from '../port/composite-key.ts'

/** Entries of a map state in memory by composite prefix (key and namespace). */
export class PrefixGroups {
  private readonly groups = new Map<string, Set<KeyedEntry>>()

  /** Entries under a prefix, in no order; undefined when there is none. */
  of(prefix: string): ReadonlySet<KeyedEntry> | undefined {
    return this.groups.get(prefix)
  }

  /** All prefixes; groups may come and go meanwhile. */
  prefixes(): IterableIterator<string> {
    return this.groups.keys()
  }

  /** Adds an entry, whose key is the first `length` bytes of `key`. */
  add(entry: KeyedEntry, key: Uint8Array, length: number): void {
    const prefix = entry.key.slice(0, prefixLength(key.subarray(0, length)))
    const group = this.groups.get(prefix)
    if (group !== undefined) group.add(entry)
    else this.groups.set(prefix, new Set([entry]))
  }

  remove(entry: KeyedEntry): void {
    const prefix = entry.key.slice(0, prefixLength(bytesOfLatin1(entry.key)))
    const group = this.groups.get(prefix)!
    group.delete(entry)
    if (group.size === 0) this.groups.delete(prefix)
  }
}
