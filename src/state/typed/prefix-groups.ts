import type { KeyedEntry } from '../entries/keyed-entry.ts'
import type { StateDeclaration } from '../port/change.ts'
import { prefixLengthOf } from '../port/composite-key.ts'

/** The part of a table that groups are made of. */
interface GroupedTable {
  readonly kind: StateDeclaration['kind']
  readonly entries: Iterable<KeyedEntry>
  groups: PrefixGroups | undefined
}

/** Entries of a map state that has no groups as long as nothing scans it: to make groups of more would take long. */
export const MOST_UNGROUPED = 16_384

/** The groups of a table, which it keeps from now on; undefined unless it is that of a map state. */
export function groupsOf(table: GroupedTable): PrefixGroups | undefined {
  if (table.kind !== 'map') return undefined
  table.groups ??= new PrefixGroups(table.entries)
  return table.groups
}

/** Entries of a map state in memory by composite prefix (key and namespace). */
export class PrefixGroups {
  /** Most maps of buffers have one entry, which needs no set. */
  private readonly groups = new Map<string, KeyedEntry | Set<KeyedEntry>>()

  constructor(entries: Iterable<KeyedEntry>) {
    for (const entry of entries) this.add(entry)
  }

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
