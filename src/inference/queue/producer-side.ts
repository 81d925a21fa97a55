import {
  HEADER,
  nextGeneration,
  ownerOf,
  PRODUCER,
  SLOT,
  SLOT_TIME,
  STATE,
  stateOf,
  withState,
} from './layout.ts'
import type { QueueMemory } from './memory.ts'

/** Facts of a request for its slot. Times are monotonic ms. */
export interface SlotFacts {
  readonly items: number
  /** Hash of what must be equal within a batch. */
  readonly bucket: number
  readonly deadlineMs: number
  /** Key of the order: the deadline, less the boost of a priority. */
  readonly keyMs: number
  readonly arrivalMs: number
  /** It is the second try of a hedged request. @default false */
  readonly isCopy?: boolean
}

/** Looks for a free slot in this many of the last freed ones before it looks at all. */
const REMEMBERED = 64

/** One producer's side of a queue. Nothing here blocks: no call takes the lock. */
export class ProducerSide {
  readonly memory: QueueMemory
  readonly producer: number
  private readonly words: Int32Array
  /** Slots that this producer freed last: their memory is warm. */
  private readonly freed: number[] = []
  private cursor = 0

  constructor(memory: QueueMemory, producer: number) {
    this.memory = memory
    this.producer = producer
    this.words = memory.words
  }

  /** A slot for a request, or -1 when the queue is full. */
  claim(): number {
    const warm = this.freed.pop()
    if (warm !== undefined && this.claimed(warm)) return warm
    const { capacity } = this.memory
    for (let i = 0; i < capacity; i++) {
      const slot = (this.cursor + i) % capacity
      if (!this.claimed(slot)) continue
      this.cursor = slot + 1
      return slot
    }
    return -1
  }

  /** Puts a request, whose inputs are written, up for the workers, and wakes one that sleeps. */
  submit(slot: number, facts: SlotFacts): void {
    this.put(slot, facts)
    this.ring()
  }

  /** Wakes one worker that sleeps. */
  ring(): void {
    Atomics.add(this.words, HEADER.bell, 1)
    if (Atomics.load(this.words, HEADER.sleeping) > 0) wake(this.words, 1)
  }

  /** As `submit`, for several requests in a row: the caller rings after the last one. */
  put(slot: number, facts: SlotFacts): void {
    const { words, memory } = this
    const at = memory.slotAt(slot)
    words[at + SLOT.producer] = this.producer
    words[at + SLOT.items] = facts.items
    words[at + SLOT.bucket] = facts.bucket
    words[at + SLOT.group] = 0
    words[at + SLOT.attempt] = 0
    words[at + SLOT.isCopy] = facts.isCopy === true ? 1 : 0
    memory.numbers[at / 2 + SLOT_TIME.deadline] = facts.deadlineMs
    memory.numbers[at / 2 + SLOT_TIME.key] = facts.keyMs
    memory.numbers[at / 2 + SLOT_TIME.arrival] = facts.arrivalMs
    Atomics.add(words, HEADER.waiting, 1)
    Atomics.add(words, HEADER.waitingItems, facts.items)
    Atomics.add(words, HEADER.arrivedItems, facts.items)
    Atomics.store(words, at, withState(words[at]!, STATE.ready, this.producer))
    Atomics.or(words, memory.readyAt + (slot >>> 5), 1 << (slot & 31))
  }

  /** Gives a waiting request up and frees its slot. False when a worker has it already. */
  withdraw(slot: number): boolean {
    const { words } = this
    const at = this.memory.slotAt(slot)
    const state = Atomics.load(words, at)
    if (stateOf(state) !== STATE.ready) return false
    const items = words[at + SLOT.items]!
    if (Atomics.compareExchange(words, at, state, withState(state, STATE.free, 0)) !== state) {
      return false
    }
    Atomics.sub(words, HEADER.waiting, 1)
    Atomics.sub(words, HEADER.waitingItems, items)
    return true
  }

  /** When a worker took the request, monotonic ms; undefined while none has it. */
  takenAt(slot: number): number | undefined {
    const at = this.memory.slotAt(slot)
    if (holderOf(Atomics.load(this.words, at)) < 0) return undefined
    return this.memory.numbers[at / 2 + SLOT_TIME.takenAt]
  }

  /** Submits the request of a slot a second time, from a claimed slot. */
  submitCopy(slot: number, copy: number): void {
    const { memory, words } = this
    const from = memory.inputAt(slot)
    memory.bytes.copyWithin(memory.inputAt(copy), from, from + memory.inputBytes)
    const at = memory.slotAt(slot)
    const times = at / 2
    this.submit(copy, {
      items: words[at + SLOT.items]!,
      bucket: words[at + SLOT.bucket]!,
      deadlineMs: memory.numbers[times + SLOT_TIME.deadline]!,
      keyMs: memory.numbers[times + SLOT_TIME.key]!,
      arrivalMs: memory.numbers[times + SLOT_TIME.arrival]!,
      isCopy: true,
    })
  }

  /** Marks a request that a worker has as no longer needed: if the worker is lost, it is not tried again. */
  forsake(slot: number): void {
    this.memory.numbers[this.memory.slotAt(slot) / 2 + SLOT_TIME.deadline] = 0
  }

  /** Frees a slot that was claimed and not submitted, or whose request has ended. */
  free(slot: number): void {
    const at = this.memory.slotAt(slot)
    Atomics.store(this.words, at, withState(this.words[at]!, STATE.free, 0))
    if (this.freed.length < REMEMBERED) this.freed.push(slot)
  }

  /** Calls `ended` with each slot of this producer whose request has ended since the last call. */
  collect(ended: (slot: number, state: number) => void): void {
    const { words, memory } = this
    const at = memory.doneAt(this.producer)
    for (let word = 0; word < memory.bitWords; word++) {
      if (Atomics.load(words, at + word) === 0) continue
      let bits = Atomics.exchange(words, at + word, 0)
      while (bits !== 0) {
        const slot = word * 32 + 31 - Math.clz32(bits & -bits)
        bits &= bits - 1
        const state = stateOf(Atomics.load(words, memory.slotAt(slot)))
        // A lost worker's slots may be reported twice.
        if (state >= STATE.done && words[memory.slotAt(slot) + SLOT.producer] === this.producer) {
          ended(slot, state)
        }
      }
    }
  }

  /** Index of the word on which the thread of this producer sleeps, see `Doorbell`. */
  get bellAt(): number {
    return this.memory.producerAt(this.producer) + PRODUCER.bell
  }

  /** Adds 1 to a counter of this producer's row. */
  count(counter: number): void {
    const index = this.memory.producerAt(this.producer) / 2 + counter
    this.memory.numbers[index] = this.memory.numbers[index]! + 1
  }

  private claimed(slot: number): boolean {
    const at = this.memory.slotAt(slot)
    const state = Atomics.load(this.words, at)
    if (stateOf(state) !== STATE.free) return false
    const next = nextGeneration(state, STATE.filling, this.producer)
    return Atomics.compareExchange(this.words, at, state, next) === state
  }
}

/** Wakes all workers that sleep. */
export function ringAllWorkers(words: Int32Array): void {
  Atomics.add(words, HEADER.bell, 1)
  wake(words, Number.POSITIVE_INFINITY)
}

/**
 * Wakes workers, and counts them as awake at once: one that is woken takes a while to run, and each ring until then would
 * be another call of the system.
 */
function wake(words: Int32Array, most: number): void {
  const woken = Atomics.notify(words, HEADER.bell, most)
  if (woken > 0) Atomics.sub(words, HEADER.sleeping, woken)
}

/** Number of the worker that holds the slot, or -1. */
export function holderOf(state: number): number {
  const kind = stateOf(state)
  return kind === STATE.taken || kind === STATE.writing ? ownerOf(state) : -1
}
