import { HEADER, SLOT, SLOT_TIME, STATE, stateOf } from './layout.ts'
import type { QueueMemory } from './memory.ts'

/** Deadline of the first request that waits, monotonic ms; Infinity when none does. */
export function firstDeadline(memory: QueueMemory): number {
  let first = Number.POSITIVE_INFINITY
  if (Atomics.load(memory.words, HEADER.waiting) === 0) return first
  for (let slot = 0; slot < memory.capacity; slot++) {
    const at = memory.slotAt(slot)
    if (stateOf(Atomics.load(memory.words, at + SLOT.state)) !== STATE.ready) continue
    first = Math.min(first, memory.numbers[at / 2 + SLOT_TIME.deadline]!)
  }
  return first
}
