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
import { takeOver, unlock } from './lock.ts'
import type { QueueMemory } from './memory.ts'
import { Order } from './order.ts'
import { holderOf, ringAllWorkers } from './producer-side.ts'
import { markDone, ringProducer, writeFailure } from './worker-side.ts'

/** Number that the supervisor has as a holder of the lock. */
const SUPERVISOR = 255

/**
 * Sets the queue free from a worker that ended: when it held the lock, the order and the counts are built
 * again from the states, and the lock is given back. The memory may be in any state.
 */
export function releaseLockOf(memory: QueueMemory, worker: number): void {
  if (!takeOver(memory.words, worker, SUPERVISOR)) return
  new Order(memory).rebuild()
  recount(memory)
  unlock(memory.words)
}

/** Slots that the worker has taken and not answered. */
export function slotsOf(memory: QueueMemory, worker: number): number[] {
  return slotsWhere(memory, (state) => holderOf(state) === worker)
}

/** Reports again what a worker ended but may not have reported; reporting twice is harmless. */
export function reportEnded(memory: QueueMemory, worker: number): void {
  for (const slot of slotsWhere(memory, (s) => stateOf(s) >= STATE.done && ownerOf(s) === worker)) {
    markDone(memory, slot)
    ringProducer(memory, memory.words[memory.slotAt(slot) + SLOT.producer]!)
  }
}

/** Puts slots of a lost worker up again, apart from all other requests when `isApart`. */
export function retrySlots(memory: QueueMemory, slots: readonly number[], isApart: boolean): void {
  const { words } = memory
  const group = isApart ? Atomics.add(words, HEADER.group, 1) + 1 : 0
  for (const slot of slots) {
    const at = memory.slotAt(slot)
    const state = Atomics.load(words, at)
    words[at + SLOT.group] = group
    Atomics.add(words, at + SLOT.attempt, 1)
    const producer = words[at + SLOT.producer]!
    // The next generation: the order may still have an entry of the first attempt.
    const next = nextGeneration(state, STATE.ready, producer)
    if (Atomics.compareExchange(words, at, state, next) !== state) continue
    Atomics.add(words, HEADER.waiting, 1)
    Atomics.add(words, HEADER.waitingItems, words[at + SLOT.items]!)
    Atomics.or(words, memory.readyAt + (slot >>> 5), 1 << (slot & 31))
  }
  ringAllWorkers(words)
}

/** Fails a slot of a lost worker. `code` is of `numberOfCode`. */
export function failSlot(memory: QueueMemory, slot: number, code: number): void {
  const { words } = memory
  const at = memory.slotAt(slot)
  const state = Atomics.load(words, at)
  words[at + SLOT.code] = code
  words[at + SLOT.outputLength] = 0
  const next = withState(state, STATE.failed, ownerOf(state))
  if (Atomics.compareExchange(words, at, state, next) !== state) return
  markDone(memory, slot)
  ringProducer(memory, words[at + SLOT.producer]!)
}

/**
 * Fails every request that waits, because no worker can take it. `code` is of `numberOfCode`. Returns
 * how many there were.
 */
export function failWaiting(
  memory: QueueMemory,
  failure: { readonly code: number; readonly message: string },
): number {
  const { words } = memory
  let failed = 0
  for (const slot of slotsWhere(memory, (state) => stateOf(state) === STATE.ready)) {
    const at = memory.slotAt(slot)
    const state = Atomics.load(words, at)
    const items = words[at + SLOT.items]!
    const held = withState(state, STATE.writing, SUPERVISOR)
    // A producer may give the request up in between.
    if (stateOf(state) !== STATE.ready || !replaces(words, at, [state, held])) continue
    Atomics.sub(words, HEADER.waiting, 1)
    Atomics.sub(words, HEADER.waitingItems, items)
    writeFailure(memory, slot, failure)
    Atomics.store(words, at, withState(held, STATE.failed, SUPERVISOR))
    markDone(memory, slot)
    ringProducer(memory, words[at + SLOT.producer]!)
    failed++
  }
  return failed
}

function replaces(words: Int32Array, at: number, [from, to]: readonly [number, number]): boolean {
  return Atomics.compareExchange(words, at, from, to) === from
}

/** Lost attempts and deadline of a slot. */
export function lossFacts(memory: QueueMemory, slot: number) {
  const at = memory.slotAt(slot)
  return {
    lostAttempts: memory.words[at + SLOT.attempt]! + 1,
    deadlineMs: memory.numbers[at / 2 + SLOT_TIME.deadline]!,
  }
}

/** Frees what a producer that ended has in the queue; what a worker holds is freed at its end. */
export function forgetProducer(memory: QueueMemory, producer: number): void {
  const { words } = memory
  Atomics.store(words, memory.producerAt(producer) + PRODUCER.dead, 1)
  for (let slot = 0; slot < memory.capacity; slot++) {
    const at = memory.slotAt(slot)
    const state = Atomics.load(words, at)
    const kind = stateOf(state)
    const isOwn =
      kind === STATE.filling ? ownerOf(state) === producer : words[at + SLOT.producer] === producer
    const isIdle = kind !== STATE.free && kind !== STATE.taken && kind !== STATE.writing
    if (!isOwn || !isIdle) continue
    const isFreed =
      Atomics.compareExchange(words, at, state, withState(state, STATE.free, 0)) === state
    if (isFreed && kind === STATE.ready) {
      Atomics.sub(words, HEADER.waiting, 1)
      Atomics.sub(words, HEADER.waitingItems, words[at + SLOT.items]!)
    }
  }
}

/** Makes the row of a producer that ended free for a new one. */
export function admitProducer(memory: QueueMemory, producer: number): void {
  const { words } = memory
  const at = memory.doneAt(producer)
  for (let word = 0; word < memory.bitWords; word++) Atomics.store(words, at + word, 0)
  Atomics.store(words, memory.producerAt(producer) + PRODUCER.dead, 0)
}

/** Counts waiting requests from the states. Submissions under way make it wrong by as much. */
function recount(memory: QueueMemory): void {
  const waiting = slotsWhere(memory, (state) => stateOf(state) === STATE.ready)
  let items = 0
  for (const slot of waiting) items += memory.words[memory.slotAt(slot) + SLOT.items]!
  Atomics.store(memory.words, HEADER.waiting, waiting.length)
  Atomics.store(memory.words, HEADER.waitingItems, items)
}

function slotsWhere(memory: QueueMemory, fits: (state: number) => boolean): number[] {
  const slots: number[] = []
  for (let slot = 0; slot < memory.capacity; slot++) {
    if (fits(Atomics.load(memory.words, memory.slotAt(slot)))) slots.push(slot)
  }
  return slots
}

/** Whether a request whose deadline is after `nowMs` waits, runs or is not collected yet. */
export function hasRequests(memory: QueueMemory, nowMs: number): boolean {
  const used = slotsWhere(memory, (state) => stateOf(state) !== STATE.free)
  return used.some((slot) => lossFacts(memory, slot).deadlineMs > nowMs)
}
