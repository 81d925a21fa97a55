import type { OpenRow } from './row.ts'

/** How the events of a key fold into the region of a feature, and what is read from it. */
export interface Tally<IN, OUT> {
  /** What its region means: a region that was written under another text is not read. */
  readonly layout: string
  /** Most bytes that its region can have. */
  readonly mostBytes: number
  /** Checks what the user's function gave. A text says why it cannot be added. */
  check(input: unknown): string | undefined
  /** Adds an event; the row's `newest` is at least its time. An event before each window that can still be read is left out. */
  add(row: OpenRow, feature: number, time: number, input: IN): void
  /** The value at a time, which is at least the row's `newest`. */
  read(row: OpenRow, feature: number, at: number): OUT
}

/** Why a value cannot be added as a number; undefined for a finite number. */
export function refusalOfNumber(input: unknown): string | undefined {
  return typeof input === 'number' && Number.isFinite(input) ? undefined : 'a finite number'
}
