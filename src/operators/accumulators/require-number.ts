import { refuseArgument } from '../../core/text/refuse-argument.ts'

/** Throws INVALID_ARGUMENT unless a value that an accumulator adds is a number, or an infinity: a text would be joined to the sum. */
export function requireNumber(value: unknown, type: string): void {
  if (typeof value === 'number' && !Number.isNaN(value)) return
  refuseArgument(`${type}.add(...)`, value, 'a number')
}
