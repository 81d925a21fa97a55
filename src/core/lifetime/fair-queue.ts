/**
 * Queue that serves its owners in turn, one item each, so that an owner with thousands of items does not
 * hold up one with a single item. Items of one owner stay in order.
 */
export class FairQueue<T> {
  private readonly byOwner = new Map<unknown, T[]>()
  private count = 0

  /** Items that wait. */
  get size(): number {
    return this.count
  }

  push(owner: unknown, item: T): void {
    const items = this.byOwner.get(owner)
    if (items === undefined) this.byOwner.set(owner, [item])
    else items.push(item)
    this.count += 1
  }

  /** The next item; undefined when none waits. */
  shift(): T | undefined {
    for (const [owner, items] of this.byOwner) {
      const item = items.shift()!
      this.count -= 1
      // Deleted and set again, the owner comes last.
      this.byOwner.delete(owner)
      if (items.length > 0) this.byOwner.set(owner, items)
      return item
    }
    return undefined
  }
}
