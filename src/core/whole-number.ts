import { requireArgument } from './errors.ts'

/** Throws INVALID_ARGUMENT, naming the option, unless `value` is a whole number in the range. */
export function requireWholeNumber(
  name: string,
  value: number,
  { min, max }: { readonly min: number; readonly max: number },
): void {
  requireArgument(
    Number.isSafeInteger(value) && value >= min && value <= max,
    `${name} must be a whole number from ${min} to ${max}, not ${value}`,
  )
}
