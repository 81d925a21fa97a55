import { requireArgument } from '../core/errors.ts'

/** Limits that keep one bad rating or rate from spoiling a row. */
export interface StepGuards {
  /** Longest gradient of one row; a longer one is shortened to it. @default 100 */
  readonly gradientClip?: number
  /** Longest row; a longer one is shortened to it. @default 1000 */
  readonly normCap?: number
}

/** Guards with every default filled in. */
export type StepGuardSettings = Required<StepGuards>

/** Checks guards and fills in defaults. Throws INVALID_ARGUMENT. */
export function stepGuards(guards: StepGuards = {}): StepGuardSettings {
  const settings = { gradientClip: guards.gradientClip ?? 100, normCap: guards.normCap ?? 1000 }
  for (const [name, value] of Object.entries(settings)) {
    requireArgument(value > 0, `${name} is greater than 0, not ${value}`)
  }
  return settings
}

/** What a gradient is multiplied with so that it is no longer than `clip`. */
export function clipFactor(sumOfSquares: number, clip: number): number {
  return sumOfSquares > clip * clip ? clip / Math.sqrt(sumOfSquares) : 1
}

/** Shortens a row to `cap`, all but the constant column; true when it was longer. */
export function capNorm(row: Float32Array, cap: number, constant: number): boolean {
  let sum = 0
  for (let i = 0; i < row.length; i++) if (i !== constant) sum += row[i]! * row[i]!
  if (!(sum > cap * cap)) return false
  const factor = cap / Math.sqrt(sum)
  for (let i = 0; i < row.length; i++) if (i !== constant) row[i]! *= factor
  return true
}
