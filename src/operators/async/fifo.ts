/** Entries at the front after which the taken ones are removed from the array. */
const MOST_TAKEN = 1024

/** A queue in an array: first in, first out. */
export class Fifo<T> {
  private items: T[] = []
  private head = 0

  /** The oldest item. */
  get first(): T | undefined {
    return this.items[this.head]
  }

  push(item: T): void {
    this.items.push(item)
  }

  /** Removes and returns the oldest item. */
  shift(): T | undefined {
    const item = this.items[this.head]
    if (item === undefined) return undefined
    this.items[this.head] = undefined as T
    this.head += 1
    if (this.head === this.items.length) this.removeTaken()
    else if (this.head > MOST_TAKEN && this.head * 2 > this.items.length) this.removeTaken()
    return item
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (let i = this.head; i < this.items.length; i++) yield this.items[i]!
  }

  private removeTaken(): void {
    if (this.head === this.items.length) this.items.length = 0
    else this.items = this.items.slice(this.head)
    this.head = 0
  }
}
