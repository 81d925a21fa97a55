import { WeirError } from '../errors.ts'
import { INSTEAD_OF_PROMISES } from '../text/instead-of-promises.ts'

/** Values nested more deeply are in a circle, or cannot be packed either. */
const DEEPEST = 500

/** Prototypes of classes that were looked at: whether their instances lose something. */
const losing = new WeakMap<object, boolean>()

/**
 * Prototypes of instances that come back as they were. An instance of a class that extends one of these classes would
 * come back as one of that class.
 */
const KEPT: ReadonlySet<object> = new Set<object>(
  [
    ...[Date, RegExp, ArrayBuffer, DataView, Buffer],
    ...[Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array],
    ...[Float32Array, Float64Array, BigInt64Array, BigUint64Array],
    ...[Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError],
  ].map(({ prototype }) => prototype),
)

/** Whether the value that is looked at has a field named `__proto__`. */
let metProto = false

/**
 * Throws UNSUPPORTED for a value that MessagePack would change without a word: a promise, a function, a symbol, a hole
 * of an array, or an instance of a class with methods or of one that extends a built-in class, in the value or within
 * it. A class that only has fields is packed as its fields. The message names the place in the value, such as
 * `.orders[2].buyer`. Returns whether a field is named `__proto__`, which must be packed in another way: MessagePack
 * reads it back under another name.
 */
export function refuseChanging(value: unknown): boolean {
  metProto = false
  try {
    refuseWithin(value, 0)
    return metProto
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const at = error.place === '' ? '' : ` in ${error.place}`
    throw new WeirError('UNSUPPORTED', `a value for MessagePack contains${at} ${error.what}`)
  }
}

/** What is refused. Its place grows on the way out of the value, so that a value that passes costs nothing. */
class Refusal {
  readonly what: string
  place = ''

  constructor(what: string) {
    this.what = what
  }

  static within(error: unknown, step: string): unknown {
    if (error instanceof Refusal && error.what !== CIRCLE) error.place = `${step}${error.place}`
    return error
  }
}

const CIRCLE = 'itself, or is nested too deeply'
const HOLE =
  'a hole, which would come back as undefined: give the array an element there, such as undefined or null'

function refuseWithin(value: unknown, depth: number): void {
  if (typeof value === 'function') throw new Refusal('a function, which would be missing')
  if (typeof value === 'symbol') throw new Refusal('a symbol')
  if (typeof value !== 'object' || value === null) return
  if (depth > DEEPEST) throw new Refusal(CIRCLE)
  const inner = depth + 1
  const prototype: object | null = Object.getPrototypeOf(value)
  if (prototype === Object.prototype) refuseInFields(value, inner)
  else if (prototype === Array.prototype) refuseInArray(value as unknown[], inner)
  else if (prototype === Set.prototype) refuseInElements(value as Set<unknown>, inner)
  else if (prototype === Map.prototype) {
    refuseInEntries(value as Map<unknown, unknown>, inner)
  } else if (prototype === null) refuseInFields(value, inner)
  else if (!KEPT.has(prototype)) {
    if (losesClass(value) || losesMembers(prototype)) throw new Refusal(describeLoss(value))
    refuseInFields(value, inner)
  }
}

function refuseInFields(value: object, depth: number): void {
  let name = ''
  try {
    for (name in value) {
      const field: unknown = (value as Record<string, unknown>)[name]
      const kind = typeof field
      if (name === '__proto__') metProto = true
      if (kind === 'number' || kind === 'string') continue
      refuseWithin(field, depth)
    }
  } catch (error) {
    throw Refusal.within(error, `.${name}`)
  }
}

function refuseInArray(elements: readonly unknown[], depth: number): void {
  let index = 0
  try {
    for (; index < elements.length; index++) {
      const element = elements[index]
      if (element === undefined && !(index in elements)) throw new Refusal(HOLE)
      refuseWithin(element, depth)
    }
  } catch (error) {
    throw Refusal.within(error, `[${index}]`)
  }
}

function refuseInElements(elements: Iterable<unknown>, depth: number): void {
  let index = 0
  try {
    for (const element of elements) {
      refuseWithin(element, depth)
      index += 1
    }
  } catch (error) {
    throw Refusal.within(error, `[${index}]`)
  }
}

function refuseInEntries(map: Map<unknown, unknown>, depth: number): void {
  let current: unknown
  try {
    for (const [key, element] of map) {
      current = key
      refuseWithin(key, depth)
      refuseWithin(element, depth)
    }
  } catch (error) {
    throw Refusal.within(error, `.get(${JSON.stringify(current) ?? 'key'})`)
  }
}

/** Whether a value that is not in `KEPT` would come back as an instance of the built-in class that it extends. */
function losesClass(value: object): boolean {
  if (value instanceof Date || value instanceof Error || value instanceof RegExp) return true
  return value instanceof ArrayBuffer || ArrayBuffer.isView(value)
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

function describeLoss(value: object): string {
  if (!(value instanceof Promise)) {
    const loss = losesClass(value) ? 'as another class' : 'without its methods'
    return `an instance of ${value.constructor.name}, which would come back ${loss}: use plain objects, or give a serializer to returns(...), keyBy or the state`
  }
  // The error is reported; a rejection of the promise adds nothing.
  value.catch(() => undefined)
  return `a promise: ${INSTEAD_OF_PROMISES}`
}
