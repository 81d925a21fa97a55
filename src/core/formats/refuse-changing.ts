import { WeirError } from '../errors.ts'

/** Values nested more deeply are in a circle, or cannot be packed either. */
const DEEPEST = 500

/** Prototypes of classes that were looked at: whether their instances lose something. */
const losing = new WeakMap<object, boolean>()

/**
 * Throws UNSUPPORTED for a value that MessagePack would change without a word: a promise, a function, a symbol, or an
 * instance of a class with methods, in the value or within it. A class that only has fields is packed as its fields.
 */
export function refuseChanging(value: unknown, depth = 0): void {
  if (typeof value === 'function') refuse('a function, which would be missing')
  if (typeof value === 'symbol') refuse('a symbol')
  if (typeof value !== 'object' || value === null) return
  if (depth > DEEPEST) refuse('itself, or is nested too deeply')
  const inner = depth + 1
  const prototype: object | null = Object.getPrototypeOf(value)
  if (prototype === Object.prototype) refuseInFields(value, inner)
  else if (prototype === Array.prototype || prototype === Set.prototype) {
    for (const element of value as Iterable<unknown>) refuseChanging(element, inner)
  } else if (prototype === Map.prototype) {
    for (const [key, element] of value as Map<unknown, unknown>) {
      refuseChanging(key, inner)
      refuseChanging(element, inner)
    }
  } else if (!isKept(value)) {
    if (prototype !== null && losesMembers(prototype)) refuseInstance(value)
    refuseInFields(value, inner)
  }
}

function refuseInFields(value: object, depth: number): void {
  for (const name in value) {
    const field: unknown = (value as Record<string, unknown>)[name]
    const kind = typeof field
    if (kind === 'number' || kind === 'string') continue
    refuseChanging(field, depth)
  }
}

/** Whether instances come back as they were. */
function isKept(value: object): boolean {
  if (value instanceof Date || ArrayBuffer.isView(value)) return true
  return value instanceof ArrayBuffer || value instanceof Error || value instanceof RegExp
}

function losesMembers(prototype: object): boolean {
  if (prototype === Object.prototype) return false
  let known = losing.get(prototype)
  if (known === undefined) {
    const parent: object | null = Object.getPrototypeOf(prototype)
    const own = Reflect.ownKeys(prototype).some((name) => name !== 'constructor')
    known = own || (parent !== null && losesMembers(parent))
    losing.set(prototype, known)
  }
  return known
}

function refuseInstance(value: object): never {
  if (value instanceof Promise) {
    // The error below is reported; a rejection of the promise adds nothing.
    value.catch(() => undefined)
    refuse(
      'a promise: functions of operators are synchronous. For asynchronous I/O use AsyncDataStream.orderedWait or AsyncDataStream.unorderedWait',
    )
  }
  refuse(
    `an instance of ${value.constructor.name}, which would come back without its methods: use plain objects, or give a serializer to returns(...), keyBy or the state`,
  )
}

function refuse(what: string): never {
  throw new WeirError('UNSUPPORTED', `a value for MessagePack contains ${what}`)
}
