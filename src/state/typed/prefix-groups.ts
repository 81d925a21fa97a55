import type { KeyedEntry } from '../entries/keyed-entry.ts'
import { prefixLengthOf } from '../port/composite-key.ts'

/** Entries of a map state in memory by composite prefix (key and namespace). */
export class PrefixGroups {
  /** Most maps of buffers have one entry, which needs no set. */
  private readonly groups = new Map<string, KeyedEntry | Set<KeyedEntry>>()

  /** Entries under a prefix, in no order; undefined when there is none. */
  of(prefix: string): Iterable<KeyedEntry> | undefined {
    const group = this.groups.get(prefix)
    return group === undefined || group instanceof Set ? group : [group]
  }

  /** All prefixes; groups may come and go meanwhile. */
  prefixes(): IterableIterator<string> {
    return this.groups.keys()
  }

  add(entry: KeyedEntry): void {
    const prefix = prefixOf(entry)
    const group = this.groups.get(prefix)
    if (group === undefined) this.groups.set(prefix, entry)
    else if (group instanceof Set) group.add(entry)
    else this.groups.set(prefix, new Set([group, entry]))
  }

  remove(entry: KeyedEntry): void {
    const prefix = prefixOf(entry)
    const group = this.groups.get(prefix)
    if (group === entry) this.groups.delete(prefix)
    if (!(group instanceof Set)) return
    group.delete(entry)
    if (group.size === 0) this.groups.delete(prefix)
  }
}

function prefixOf({ key }: KeyedEntry): string {
  return key.slice(0, prefixLengthOf(key))
}
