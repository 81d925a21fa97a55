/** The two clocks of a machine; the part of `Clock` that says the time. */
export interface Clocks {
  /** Wall clock, ms since 1970. */
  nowMs(): number
  /** Clock that only goes forward, ms. */
  monotonicMs(): number
}

/** A moment on both clocks of a machine. */
export interface Moment {
  readonly wallMs: number
  readonly monotonicMs: number
}

/** A limit in ms for something that began at a moment. */
export interface Deadline {
  readonly began: Moment
  readonly limitMs: number
}

/** The present moment. */
export function momentOf(clock: Clocks): Moment {
  return { wallMs: clock.nowMs(), monotonicMs: clock.monotonicMs() }
}

/**
 * Time since a moment in ms, by the clock that says more: the monotonic one stands still while the machine is
 * suspended, and the wall clock may be set back.
 */
export function ageMs(clock: Clocks, since: Moment): number {
  return Math.max(clock.nowMs() - since.wallMs, clock.monotonicMs() - since.monotonicMs)
}

/** Whether a deadline has passed. */
export function isOver(clock: Clocks, { began, limitMs }: Deadline): boolean {
  return ageMs(clock, began) > limitMs
}
