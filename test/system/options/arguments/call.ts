import type { World } from '../calls.ts'

/** A call with right arguments, of which the test replaces one after the other. */
export interface ArgumentsCall {
  /** Arguments that the call takes, up to the last one that it needs. */
  readonly args: readonly unknown[]
  readonly call: (world: World, ...args: never[]) => unknown
}

/** Calls by their names. */
export type ArgumentsCalls = Readonly<Record<string, ArgumentsCall>>

/** A call of a method of what a function makes. */
export function on<T>(
  make: (world: World) => T | Promise<T>,
  method: keyof T & string,
  ...args: unknown[]
): ArgumentsCall {
  const call = async (world: World, ...given: never[]): Promise<unknown> => {
    const object = (await make(world)) as Record<string, (...args: never[]) => unknown>
    return await object[method]!(...given)
  }
  return { args, call }
}

/** A call of a function. */
export function of(work: (...args: never[]) => unknown, ...args: unknown[]): ArgumentsCall {
  return { args, call: (_world, ...given) => work(...given) }
}

/** A call of a constructor. */
export function made(type: new (...args: never[]) => unknown, ...args: unknown[]): ArgumentsCall {
  return { args, call: (_world, ...given) => new type(...given) }
}

/** Calls of methods of one class, by their names and right arguments; `name` is that of an object of the class. */
export function methodsOf(
  name: string,
  make: (world: World) => object,
  ...methods: readonly (readonly [method: string, ...args: unknown[]])[]
): ArgumentsCalls {
  return Object.fromEntries(
    methods.map(([method, ...args]) => [
      `${name}.${method}`,
      on(make as () => never, method as never, ...args),
    ]),
  )
}
