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
  begin(slot: number, node: number, total: number): void {
    const at = slot * WORDS
    Atomics.store(this.words, at + 2, 0)
    Atomics.store(this.words, at + 3, total)
    Atomics.store(this.words, at + 1, node + 1)
  }

  /** The slot goes on to the next key. */
  step(slot: number): void {
    const at = slot * WORDS
    Atomics.add(this.words, at, 1)
    Atomics.add(this.words, at + 2, 1)
  }

  end(slot: number): void {
    Atomics.store(this.words, slot * WORDS + 1, 0)
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
