import { WeirError } from '../errors.ts'
import { describeValue } from './describe-value.ts'

/** Throws INVALID_ARGUMENT that says what a call got and what it takes; `role` stands before what it got. */
export function refuseArgument(call: string, given: unknown, takes: string, role?: string): never {
  const got = role === undefined ? describeValue(given) : `${role} ${describeValue(given)}`
  throw new WeirError('INVALID_ARGUMENT', `${call} got ${got}, but takes ${takes}`)
}
