import { isClass } from '../../core/text/describe-value.ts'
import { refuseArgument } from '../../core/text/refuse-argument.ts'

/** Throws INVALID_ARGUMENT unless the argument is a factory, a function without `new`; `example` is a right call. */
export function requireFactory(given: unknown, call: string, example: string): void {
  if (typeof given === 'function' && !isClass(given)) return
  refuseArgument(call, given, `a function that makes an object: ${example}`)
}

/** The object that a factory made. Throws INVALID_ARGUMENT unless it has these methods. */
export function madeObject<T>(made: T, call: string, methods: readonly string[]): T {
  const members = made as Readonly<Record<string, unknown>> | null | undefined
  if (methods.every((method) => typeof members?.[method] === 'function')) return made
  const takes = `a function that makes an object with ${methods.join(' and ')}`
  refuseArgument(call, made, takes, 'a function that makes')
}

/** Throws INVALID_ARGUMENT unless the argument is the descriptor of a state; `example` makes one. */
export function requireDescriptor(given: unknown, call: string, example: string): void {
  const name: unknown = (given as { readonly name?: unknown } | null | undefined)?.name
  if (typeof given === 'object' && typeof name === 'string') return
  refuseArgument(call, given, `the descriptor that the job's function declares: ${example}`)
}

/** Throws INVALID_ARGUMENT unless the argument is the uid of an operator. */
export function requireUid(given: unknown, call: string): void {
  if (typeof given === 'string' && given !== '') return
  refuseArgument(call, given, 'the uid of an operator, a text')
}

/** Throws INVALID_ARGUMENT unless the argument is the path of a savepoint. */
export function requirePath(given: unknown, call: string): void {
  if (typeof given === 'string') return
  refuseArgument(call, given, 'the path or URL of a savepoint, as triggerSavepoint returns it')
}
