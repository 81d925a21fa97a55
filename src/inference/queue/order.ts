import { HEADER, ORDER_SHARE, ORDER_WORDS, SLOT, SLOT_TIME, STATE, stateOf } from './layout.ts'
import type { QueueMemory } from './memory.ts'

/**
 * The waiting requests, earliest key first, equal keys in the order of their arrival. A sorted array: with
 * one latency goal deadlines arrive in order, so nearly every insertion is at the end, and a rule reads
 * the first requests without taking them out. Every call needs the lock.
 */
export class Order {
  private readonly memory: QueueMemory
  private readonly words: Int32Array

  constructor(memory: QueueMemory) {
    this.memory = memory
    this.words = memory.words
  }

  get start(): number {
    return this.words[HEADER.orderStart]!
  }

  get end(): number {
    return this.words[HEADER.orderEnd]!
  }

  /** The slot of the entry, or -1 when its request no longer waits. */
  slotOf(position: number): number {
    const at = this.memory.orderAt + position * ORDER_WORDS
    const slot = this.words[at]!
    const state = Atomics.load(this.words, this.memory.slotAt(slot) + SLOT.state)
    return state === this.words[at + 1] ? slot : -1
  }

  /** Puts every submitted request in its place. */
  drain(): void {
    const { memory, words } = this
    for (let word = 0; word < memory.bitWords; word++) {
      if (Atomics.load(words, memory.readyAt + word) === 0) continue
      let bits = Atomics.exchange(words, memory.readyAt + word, 0)
      while (bits !== 0) {
        const bit = 31 - Math.clz32(bits & -bits)
        bits &= bits - 1
        this.insert(word * 32 + bit)
      }
    }
  }

  /** Forgets all entries and reads the states of all slots. */
  rebuild(): void {
    this.words[HEADER.orderStart] = 0
    this.words[HEADER.orderEnd] = 0
    for (let word = 0; word < this.memory.bitWords; word++) {
      Atomics.store(this.words, this.memory.readyAt + word, 0)
    }
    for (let slot = 0; slot < this.memory.capacity; slot++) this.insert(slot)
  }

  /** Drops entries whose requests no longer wait. */
  compact(): void {
    const { words } = this
    const base = this.memory.orderAt
    let to = 0
    for (let position = this.start; position < this.end; position++) {
      if (this.slotOf(position) < 0) continue
      const from = base + position * ORDER_WORDS
      words.copyWithin(base + to * ORDER_WORDS, from, from + ORDER_WORDS)
      to++
    }
    words[HEADER.orderStart] = 0
    words[HEADER.orderEnd] = to
  }

  /** Moves the start behind entries at the front whose requests no longer wait. */
  trim(): void {
    let { start } = this
    while (start < this.end && this.slotOf(start) < 0) start++
    this.words[HEADER.orderStart] = start
  }

  private insert(slot: number): void {
    const { words } = this
    const state = Atomics.load(words, this.memory.slotAt(slot) + SLOT.state)
    if (stateOf(state) !== STATE.ready) return
    if (this.end === this.memory.capacity * ORDER_SHARE) this.compact()
    const key = this.memory.numbers[this.memory.slotAt(slot) / 2 + SLOT_TIME.key]!
    const position = this.positionOf(key)
    const at = this.memory.orderAt + position * ORDER_WORDS
    words.copyWithin(at + ORDER_WORDS, at, this.memory.orderAt + this.end * ORDER_WORDS)
    words[at] = slot
    words[at + 1] = state
    this.memory.numbers[at / 2 + 1] = key
    words[HEADER.orderEnd] = this.end + 1
  }

  /** The place behind all entries with keys up to `key`. */
  private positionOf(key: number): number {
    let low = this.start
    let high = this.end
    if (high > low && this.keyAt(high - 1) <= key) return high
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.keyAt(middle) <= key) low = middle + 1
      else high = middle
    }
    return low
  }

  private keyAt(position: number): number {
    return this.memory.numbers[(this.memory.orderAt + position * ORDER_WORDS) / 2 + 1]!
  }
}
