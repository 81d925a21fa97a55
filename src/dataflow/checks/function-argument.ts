import { isClass } from '../../core/text/describe-value.ts'
import { refuseArgument } from '../../core/text/refuse-argument.ts'
import { refuseAsync } from '../../operators/port/refuse-promise.ts'

/** A call of a stream that takes a function. */
export interface FunctionUse {
  /** The method, such as `map`. */
  readonly call: string
  /** The operator that the call makes, or the one behind which it stands. */
  readonly operator: string
  /** A right call, which the message shows. */
  readonly example: string
  /** Whether the function may be a generator. @default false */
  readonly generators?: boolean
}

/**
 * Throws INVALID_ARGUMENT unless the argument is a function that can be called with records, and UNSUPPORTED for an
 * async one. TypeScript says the same; a program in plain JavaScript, or one with a cast, learns it here.
 */
export function requireFunction(given: unknown, use: FunctionUse): void {
  const { call, operator, example, generators = false } = use
  const name = `the function of ${call}(...) of operator "${operator}"`
  refuseAsync(given, name)
  if (typeof given !== 'function' || isClass(given)) {
    refuseArgument(`${call}(...) of operator "${operator}"`, given, `a function: ${example}`)
  }
  if (!generators && isGenerator(given)) {
    refuseArgument(
      `${call}(...) of operator "${operator}"`,
      given,
      'a function that returns its result: use flatMap for several',
    )
  }
}

/** Whether a call of the function only makes an iterator. */
export function isGenerator(given: unknown): boolean {
  return Object.prototype.toString.call(given) === '[object GeneratorFunction]'
}
