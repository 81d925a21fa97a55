import type { KeyedEntry } from './keyed-entry.ts'

/** Hash buckets of one key group: each group has a small table, so that growing one never stalls. */
export class Buckets {
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
