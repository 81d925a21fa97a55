import { requireArgument } from '../../../core/errors.ts'

/** Limits that protect rows from a bad rating or learning rate. */
export interface StepGuards {
  /** Maximum length of a row's gradient; a longer one is shortened to it. @default 100 */
  readonly gradientClip?: number
  /** Maximum length of a row; a longer one is shortened to it. @default 1000 */
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

/** The factor that shortens a gradient to `clip`; 1 if it is not longer. */
export function clipFactor(sumOfSquares: number, clip: number): number {
  return sumOfSquares > clip * clip ? clip / Math.sqrt(sumOfSquares) : 1
}

/** Shortens a row to `cap`, without its constant column; true if it was longer. */
export function capNorm(row: Float32Array, cap: number, constant: number): boolean {
  let sum = 0
  for (let i = 0; i < row.length; i++) if (i !== constant) sum += row[i]! * row[i]!
  if (!(sum > cap * cap)) return false
  const factor = cap / Math.sqrt(sum)
  for (let i = 0; i < row.length; i++) if (i !== constant) row[i]! *= factor
  return true
}
