const FEWEST_BUCKETS = 64

/** A part that has a place among `PartsByNumber`. */
export interface NumberedPart<P> {
  readonly key: unknown
  /** Next part of the same hash bucket. */
  next: P | undefined
}

/**
 * Parts by keys that are whole numbers. Its table is used again and again, where a Map begins each time with a new one
 * that grows.
 */
export class PartsByNumber<P extends NumberedPart<P>> {
  private buckets = emptyBuckets<P>(FEWEST_BUCKETS)
  private size = 0

  /** The part of a key. */
  find(key: number): P | undefined {
    let part = this.buckets[this.bucketOf(key)]
    while (part !== undefined && part.key !== key) part = part.next
    return part
  }

  /** Adds a part; `find` finds the last one of its key, which is a whole number. */
  put(part: P): void {
    if (this.size >= this.buckets.length) this.grow()
    this.size += 1
    this.link(part)
  }

  /** Forgets all parts. */
  clear(): void {
    if (this.size > 0) this.buckets.fill(undefined)
    this.size = 0
  }

  private link(part: P): void {
    const at = this.bucketOf(part.key as number)
    part.next = this.buckets[at]
    this.buckets[at] = part
  }

  /** The lower bits of a product depend on those of the number alone, so the higher ones are taken, too. */
  private bucketOf(key: number): number {
    const hash = Math.imul(key ^ (key / 2 ** 32), 0x9e3779b1)
    return (hash ^ (hash >>> 15)) & (this.buckets.length - 1)
  }

  private grow(): void {
    const before = this.buckets
    this.buckets = emptyBuckets(before.length * 2)
    for (const head of before) this.linkInOrder(head)
  }

  /** Links the parts of a bucket from the last to the first, so that the newest one of a key stays first. */
  private linkInOrder(head: P | undefined): void {
    const chain: P[] = []
    for (let part = head; part !== undefined; part = part.next) chain.push(part)
    for (const part of chain.reverse()) this.link(part)
  }
}

function emptyBuckets<P>(count: number): (P | undefined)[] {
  return new Array<P | undefined>(count).fill(undefined)
}
