import type { KeyGroupRange } from '../../core/key-group.ts'
import type { EntryIndex } from '../entries/entry-index.ts'
import type { KeyedEntry } from '../entries/keyed-entry.ts'
import { prefixLengthOf } from '../port/composite-key.ts'

/** Entries of a key group that have no groups as long as nothing scans it: to make groups of more would take long. */
const MOST_UNGROUPED = 16_384

/** Changes for each entry of a key group after its last scan that cost more than to make its groups again. */
const CHANGES_OF_ENTRY = 4
const FEWEST_CHANGES = 64

/**
 * Entries of a map state in memory by composite prefix (key and namespace). A key group has groups while it is scanned, or
 * when it is large: to keep them would cost a map that is never scanned as much as all else.
 */
export class PrefixGroups {
  private readonly index: EntryIndex
  private readonly firstKeyGroup: number
  private readonly byKeyGroup: (Groups | undefined)[]

  /** Of the entries in an index. */
  constructor(index: EntryIndex, { first, last }: KeyGroupRange) {
    this.index = index
    this.firstKeyGroup = first
    this.byKeyGroup = new Array<Groups | undefined>(Math.max(0, last - first + 1)).fill(undefined)
  }

  /** Entries of a key group under a prefix, in no order; undefined when there is none. */
  of(keyGroup: number, prefix: string): Iterable<KeyedEntry> | undefined {
    return this.grouped(keyGroup).of(prefix)
  }

  /** All prefixes of a key group; groups may come and go meanwhile. */
  prefixes(keyGroup: number): IterableIterator<string> {
    return this.grouped(keyGroup).prefixes()
  }

  /** To be called after an entry came into the index. */
  add(entry: KeyedEntry): void {
    const { keyGroup } = entry
    const groups = this.byKeyGroup[keyGroup - this.firstKeyGroup]
    if (groups !== undefined) {
      groups.add(entry)
      this.dropIfUnused(keyGroup, groups)
    } else if (this.index.sizeOf(keyGroup) > MOST_UNGROUPED) this.grouped(keyGroup)
  }

  /** To be called after an entry left the index. */
  remove(entry: KeyedEntry): void {
    const { keyGroup } = entry
    const groups = this.byKeyGroup[keyGroup - this.firstKeyGroup]
    if (groups === undefined) return
    groups.remove(entry)
    this.dropIfUnused(keyGroup, groups)
  }

  /** The groups of a key group that is scanned. */
  private grouped(keyGroup: number): Groups {
    const at = keyGroup - this.firstKeyGroup
    let groups = this.byKeyGroup[at]
    if (groups === undefined) {
      groups = new Groups(this.index.entriesOf(keyGroup))
      this.byKeyGroup[at] = groups
    }
    groups.changes = 0
    return groups
  }

  private dropIfUnused(keyGroup: number, groups: Groups): void {
    groups.changes += 1
    if (groups.changes < FEWEST_CHANGES) return
    const size = this.index.sizeOf(keyGroup)
    if (size > MOST_UNGROUPED || groups.changes < CHANGES_OF_ENTRY * size) return
    this.byKeyGroup[keyGroup - this.firstKeyGroup] = undefined
  }
}

/** Entries of one key group by composite prefix. */
class Groups {
  /** Entries that came or left since the last scan. */
  changes = 0
  /** Most maps of buffers have one entry, which needs no set. */
  private readonly groups = new Map<string, KeyedEntry | Set<KeyedEntry>>()

  constructor(entries: Iterable<KeyedEntry>) {
    for (const entry of entries) this.add(entry)
  }

  of(prefix: string): Iterable<KeyedEntry> | undefined {
    const group = this.groups.get(prefix)
    return group === undefined || group instanceof Set ? group : [group]
  }

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
