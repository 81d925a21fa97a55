import { WeirError } from '../../core/errors.ts'
import type { LongCallSteps } from '../../operators/port/operator.ts'

/*
 * Shared memory of a job, int32 words; one writer, the slot:
 *
 *   ( | steps | node | done | total | ) x slots
 *
 * "steps" only rises, and wraps; "node" is the number of an operator and one more, 0 outside of a long call.
 */

const WORDS = 4

/** A call of an operator through many keys, during which its slot answers no message. */
export interface LongCall {
  /** Number of the operator in the graph. */
  readonly node: number
  readonly done: number
  readonly total: number
}

/** What the slots of a job say in shared memory, which the main thread reads while a slot answers nothing. */
export class SlotActivity {
  readonly buffer: SharedArrayBuffer
  private readonly words: Int32Array

  constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer
    this.words = new Int32Array(buffer)
  }

  static create(slots: number): SlotActivity {
    return new SlotActivity(new SharedArrayBuffer(slots * WORDS * 4))
  }

  /** A slot begins a call through so many keys. */
  begin(slot: number, node: number, total: number): LongCallSteps {
    const at = slot * WORDS
    Atomics.store(this.words, at + 2, 0)
    Atomics.store(this.words, at + 3, total)
    Atomics.store(this.words, at + 1, node + 1)
    return {
      step: () => {
        Atomics.add(this.words, at, 1)
        Atomics.add(this.words, at + 2, 1)
      },
      end: () => Atomics.store(this.words, at + 1, 0),
    }
  }

  /** A number that changes while the slot goes on in a long call. */
  steps(slot: number): number {
    return Atomics.load(this.words, slot * WORDS)
  }

  /** The long call that a slot is in. */
  call(slot: number): LongCall | undefined {
    const at = slot * WORDS
    const node = Atomics.load(this.words, at + 1) - 1
    if (node < 0) return undefined
    const done = Atomics.load(this.words, at + 2)
    return { node, done, total: Atomics.load(this.words, at + 3) }
  }
}

/** The warning that a slot answers nothing, because it goes through the state of many keys: SLOT_BUSY. */
export function busySlot(
  slot: number,
  { done, total }: LongCall,
  operator: { readonly name: string; readonly uid: string } | undefined,
): WeirError {
  const percent = Math.floor((100 * done) / Math.max(total, 1))
  return new WeirError(
    'SLOT_BUSY',
    `slot ${slot} is busy in operator "${operator?.name}": applyToKeyedState, ${percent} % of ${total} keys; until it is done, the slot takes no records, barriers or cancels`,
    { details: { slot, operator: operator?.uid ?? '', done, total } },
  )
}
