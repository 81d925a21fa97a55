/**
 * Where learning on a version stands. `phase` counts its stops and resumptions: 0 at first, odd while it is stopped. So of two
 * phases the larger one is the later.
 */
export interface LearningPhase {
  readonly phase: number
  /** When the phase began, ms since 1970. */
  readonly atMs: number
  /** Why. */
  readonly text: string
}

/** Whether learning is stopped in a phase. */
export function isLearningStopped(phase: number): boolean {
  return phase % 2 === 1
}

/** How often learning was stopped up to a phase. */
export function stopsUntil(phase: number): number {
  return (phase + 1) >> 1
}
