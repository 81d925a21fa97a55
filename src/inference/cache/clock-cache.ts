/** Bytes of an entry beside its key and its value. */
const ENTRY_BYTES = 128

interface Entry<Value> {
  readonly key: string
  readonly epoch: number
  readonly value: Value
  readonly bytes: number
  /** Whether it was read since the hand was here. */
  isReferenced: boolean
}

/**
 * Cache of values by key, bounded by bytes, with the CLOCK algorithm (Corbato, 1968): a hand goes round the
 * entries; it clears the mark of those that were read and replaces the first that was not. A value has the
 * epoch of the weights that it was computed from; with another epoch it is as good as absent.
 */
export class ClockCache<Value> {
  private readonly capacity: number
  private readonly places = new Map<string, number>()
  private readonly ring: (Entry<Value> | undefined)[] = []
  private readonly free: number[] = []
  private hand = 0
  private used = 0
  private removed = 0

  /** `capacity` in bytes. */
  constructor(capacity: number) {
    this.capacity = capacity
  }

  /** Bytes of all entries. */
  get bytes(): number {
    return this.used
  }

  /** Number of entries. */
  get size(): number {
    return this.places.size
  }

  /** Entries that made room for others. */
  get evictions(): number {
    return this.removed
  }

  /** The value of a key at this epoch. */
  get(key: string, epoch: number): Value | undefined {
    const place = this.places.get(key)
    if (place === undefined) return undefined
    const entry = this.ring[place]!
    if (entry.epoch !== epoch) return undefined
    entry.isReferenced = true
    return entry.value
  }

  /** Values of the entries that were read since the hand was there, then of the others; at most `count`. */
  hottest(count: number): Value[] {
    const entries = this.ring.filter((entry) => entry !== undefined)
    const read = entries.filter(({ isReferenced }) => isReferenced)
    const others = entries.filter(({ isReferenced }) => !isReferenced)
    return [...read, ...others].slice(0, count).map(({ value }) => value)
  }

  /** Stores a value of `bytes` bytes; one that is larger than the cache is dropped. */
  put(key: string, epoch: number, value: Value, bytes: number): void {
    const cost = bytes + key.length + ENTRY_BYTES
    const old = this.places.get(key)
    if (old !== undefined) this.drop(old)
    if (cost > this.capacity) return
    while (this.used + cost > this.capacity) this.evict()
    const place = this.free.pop() ?? this.ring.length
    this.ring[place] = { key, epoch, value, bytes: cost, isReferenced: false }
    this.places.set(key, place)
    this.used += cost
  }

  /** Moves the hand to the first entry that was not read since it was there last, and drops it. */
  private evict(): void {
    for (;;) {
      const place = this.hand
      this.hand = (place + 1) % this.ring.length
      const entry = this.ring[place]
      if (entry === undefined) continue
      if (!entry.isReferenced) {
        this.drop(place)
        this.removed++
        return
      }
      entry.isReferenced = false
    }
  }

  private drop(place: number): void {
    const entry = this.ring[place]!
    this.ring[place] = undefined
    this.free.push(place)
    this.places.delete(entry.key)
    this.used -= entry.bytes
  }
}
