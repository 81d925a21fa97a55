import { isClass } from '../../core/text/describe-value.ts'
import { refuseArgument } from '../../core/text/refuse-argument.ts'
import { refuseAsync } from '../../operators/port/refuse-promise.ts'
import { isGenerator } from './function-argument.ts'

/** A call of a stream that takes a factory of function objects. */
export interface FactoryUse {
  /** The method, such as `process`. */
  readonly call: string
  /** The operator that the call makes. */
  readonly operator: string
  /** Methods that a function object must have. */
  readonly methods: readonly string[]
}

/** Further methods that are called with records or timers, so they cannot be async. */
const OPTIONAL_METHODS = ['onTimer', 'clear', 'timeout'] as const

/** The only method that returns a promise for each record. */
const ASYNC_METHOD = 'asyncInvoke'

/**
 * Makes one function object and looks at it. Throws INVALID_ARGUMENT where the factory is none, or its product lacks a
 * method, and UNSUPPORTED where a method that must be synchronous is async.
 */
export function sampleOf<F>(create: () => F, use: FactoryUse): F {
  requireFactory(create, use)
  return requireProduct(create(), use)
}

/**
 * Throws INVALID_ARGUMENT for what cannot be a factory. A function with parameters is most likely the user's function
 * itself, which would be called without its record.
 */
export function requireFactory(create: unknown, use: FactoryUse): void {
  if (isClass(create))
    refuseFactory(create, use, `${use.call}(() => new ${create.name || 'MyFunction'}())`)
  if (typeof create === 'function' && create.length === 0 && !isAsyncOrGenerator(create)) return
  refuseFactory(create, use, exampleOf(use))
}

/** The product of a factory. Throws as `sampleOf`. */
export function requireProduct<F>(product: F, use: FactoryUse): F {
  const { methods, operator } = use
  const members = product as Readonly<Record<string, unknown>> | null | undefined
  if (methods.some((method) => typeof members?.[method] !== 'function')) {
    refuseArgument(
      nameOf(use),
      product,
      `a function that makes an object with ${methods.join(' and ')}: ${exampleOf(use)}`,
      'a function that makes',
    )
  }
  for (const method of [...methods, ...OPTIONAL_METHODS]) {
    requireSynchronous(members?.[method], method, operator)
  }
  return product
}

function requireSynchronous(method: unknown, name: string, operator: string): void {
  if (name !== ASYNC_METHOD) refuseAsync(method, `${name} of operator "${operator}"`)
  if (!isGenerator(method)) return
  refuseArgument(
    `${name} of operator "${operator}"`,
    method,
    'a plain method, because nothing would run a generator: pass results to out.collect',
  )
}

function isAsyncOrGenerator(create: unknown): boolean {
  return Object.prototype.toString.call(create) !== '[object Function]'
}

function refuseFactory(given: unknown, use: FactoryUse, example: string): never {
  refuseArgument(
    nameOf(use),
    given,
    `a function without parameters that makes an object for each subtask: ${example}`,
  )
}

const nameOf = ({ call, operator }: FactoryUse): string => `${call}(...) of operator "${operator}"`

function exampleOf({ call, methods }: FactoryUse): string {
  return `${call}(() => ({ ${methods.map((method) => `${method}(...) { ... }`).join(', ')} }))`
}
