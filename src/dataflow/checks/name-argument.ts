import { refuseArgument } from '../../core/text/refuse-argument.ts'

/** Throws INVALID_ARGUMENT for what is no text. */
export function requireName(given: unknown, call: string): void {
  if (typeof given !== 'string') refuseArgument(`${call}(...)`, given, `a text: ${call}('orders')`)
}
