import type { LoopTurn } from './slot-loop.ts'

/** Pause between two copies for a checkpoint where nothing else is to be done. */
const COPY_PAUSE_MS = 1

/** What a turn of a slot did. */
export interface TurnFacts {
  /** Records or messages were processed. */
  readonly worked: boolean
  /** State was copied out for a checkpoint, and more may be left. */
  readonly copied: boolean
  /** Wall clock. */
  readonly nowMs: number
  /** When a subtask wants to be called next, ms of the wall clock. */
  readonly nextTickMs: number | undefined
}

/**
 * When the slot turns again. One that copies and has nothing to process pauses between two copies:
 * slots that copy at once would hold every processor, and queries, other slots and the threads that
 * write the copies would wait for them.
 */
export function afterTurn({ worked, copied, nowMs, nextTickMs }: TurnFacts): LoopTurn {
  if (!copied) return { more: worked, wakeAtMs: nextTickMs }
  const copyAtMs = nowMs + COPY_PAUSE_MS
  return { more: worked, wakeAtMs: Math.min(nextTickMs ?? copyAtMs, copyAtMs) }
}
