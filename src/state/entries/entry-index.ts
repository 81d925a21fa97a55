import type { KeyGroupRange } from '../../core/key-group.ts'
import { equalsLatin1 } from '../../core/text/latin1.ts'
import type { KeySelection } from '../port/key-selection.ts'
import { LONG } from '../port/short-key.ts'
import type { KeyedEntry } from './keyed-entry.ts'

/** The entries of a table in memory by key group and hash, live or not, and which key groups have been spilled. */
export class EntryIndex {
  private readonly buckets: (Buckets | undefined)[]
  private readonly firstKeyGroup: number

  constructor({ first, last }: KeyGroupRange) {
    this.firstKeyGroup = first
    this.buckets = new Array<Buckets | undefined>(Math.max(0, last - first + 1)).fill(undefined)
  }

  /** The entry with a composite key. */
  find(keyGroup: number, key: Uint8Array, length: number, hash: number): KeyedEntry | undefined {
    let entry = this.headOf(keyGroup, hash)
    while (entry !== null) {
      if (entry.hash === hash && equalsLatin1(entry.key, key, length)) return entry
      entry = entry.next
    }
    return undefined
  }

  /** As `find`, of the selected key and namespace, which must be located. */
  findSelected(selection: KeySelection): KeyedEntry | undefined {
    const { hash } = selection
    const { form, rest } = selection.short
    let entry = this.headOf(selection.keyGroup, hash)
    while (entry !== null) {
      if (entry.hash === hash) {
        const isShort = form !== LONG && form === entry.keyForm
        if (isShort ? rest === entry.keyRest : selection.isKeyOf(entry.key)) return entry
      }
      entry = entry.next
    }
    return undefined
  }

  /** The first entry of the hash's bucket. */
  headOf(keyGroup: number, hash: number): KeyedEntry | null {
    const heads = this.buckets[keyGroup - this.firstKeyGroup]?.heads
    return heads === undefined ? null : heads[hash & (heads.length - 1)]!
  }

  insert(entry: KeyedEntry): void {
    this.bucketsOf(entry.keyGroup).insert(entry)
  }

  remove(entry: KeyedEntry): void {
    this.buckets[entry.keyGroup - this.firstKeyGroup]!.remove(entry)
  }

  /** Number of entries of a key group. */
  sizeOf(keyGroup: number): number {
    return this.buckets[keyGroup - this.firstKeyGroup]?.size ?? 0
  }

  /** The entries of a key group, in no order; none may come or leave meanwhile. */
  *entriesOf(keyGroup: number): IterableIterator<KeyedEntry> {
    for (const head of this.buckets[keyGroup - this.firstKeyGroup]?.heads ?? []) {
      for (let entry = head; entry !== null; entry = entry.next) yield entry
    }
  }

  /** Whether entries of a key group may be in the store. */
  hasSpilled(keyGroup: number): boolean {
    return this.buckets[keyGroup - this.firstKeyGroup]?.spilled === true
  }

  /** Records that an entry of the key group went to the store. */
  markSpilled(keyGroup: number): void {
    this.bucketsOf(keyGroup).spilled = true
  }

  private bucketsOf(keyGroup: number): Buckets {
    const at = keyGroup - this.firstKeyGroup
    let buckets = this.buckets[at]
    if (buckets === undefined) {
      buckets = new Buckets()
      this.buckets[at] = buckets
    }
    return buckets
  }
}

/** Hash buckets of one key group: each group has a small table, so that growing one never stalls. */
class Buckets {
  heads: (KeyedEntry | null)[] = [null, null, null, null]
  size = 0
  /** Whether entries of the group were ever moved to the store. */
  spilled = false

  insert(entry: KeyedEntry): void {
    if (this.size >= this.heads.length) this.grow()
    const at = entry.hash & (this.heads.length - 1)
    entry.next = this.heads[at]!
    this.heads[at] = entry
    this.size += 1
  }

  remove(entry: KeyedEntry): void {
    const at = entry.hash & (this.heads.length - 1)
    let current = this.heads[at]!
    if (current === entry) this.heads[at] = entry.next
    else {
      while (current.next !== entry) current = current.next!
      current.next = entry.next
    }
    entry.next = null
    this.size -= 1
  }

  private grow(): void {
    const old = this.heads
    const mask = old.length * 2 - 1
    const heads = new Array<KeyedEntry | null>(mask + 1).fill(null)
    for (let head of old) {
      while (head !== null) {
        const next: KeyedEntry | null = head.next
        head.next = heads[head.hash & mask]!
        heads[head.hash & mask] = head
        head = next
      }
    }
    this.heads = heads
  }
}
