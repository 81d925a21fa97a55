import { WeirError } from '../../core/errors.ts'
import type { LongCallSteps } from '../../operators/port/operator.ts'

/*
 * Shared memory of a job, int32 words; the main thread writes "over", the slot all else:
 *
 *   ( | steps | node | done | total | over | ) x slots
 *
 * "steps" only rises, and wraps; "node" is the number of an operator and one more, 0 outside of a long call; "over" is the
 * last attempt that is closed.
 */

const WORDS = 5

/** An attempt in one slot. */
interface SlotAttempt {
  readonly slot: number
  readonly attempt: number
}

/** A call of an operator through many keys, during which its slot answers no message. */
export interface LongCall {
  /** Number of the operator in the graph. */
  readonly node: number
  readonly done: number
  readonly total: number
}

/** What the slots of a job and the main thread tell each other in shared memory while a slot takes no messages. */
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

  /** A slot begins a call through so many keys, whose steps throw JOB_CANCELED once the attempt is over. */
  begin({ slot, attempt }: SlotAttempt, node: number, total: number): LongCallSteps {
    const at = slot * WORDS
    Atomics.store(this.words, at + 2, 0)
    Atomics.store(this.words, at + 3, total)
    Atomics.store(this.words, at + 1, node + 1)
    return {
      step: () => {
        if (Atomics.load(this.words, at + 4) >= attempt) throw canceled()
        Atomics.add(this.words, at, 1)
        Atomics.add(this.words, at + 2, 1)
      },
      end: () => Atomics.store(this.words, at + 1, 0),
    }
  }

  /** An attempt is over in a slot. */
  end({ slot, attempt }: SlotAttempt): void {
    Atomics.store(this.words, slot * WORDS + 4, attempt)
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

function canceled(): WeirError {
  return new WeirError(
    'JOB_CANCELED',
    'the attempt ended while a call went through the state of its keys',
  )
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
    `slot ${slot} is busy in operator "${operator?.name}": applyToKeyedState, ${percent} % of ${total} keys; until it is done, the slot takes no records and no barriers`,
    { details: { slot, operator: operator?.uid ?? '', done, total } },
  )
}
