/**
 * A deep copy that keeps classes, as records do that never leave their thread. Functions and objects of the engine that
 * hold no data, such as promises, are shared. `known`: copies so far, by what they are copies of.
 */
export function deepCopy(value: unknown, known: Map<object, object> = new Map()): unknown {
  if (typeof value !== 'object' || value === null) return value
  const before = known.get(value)
  if (before !== undefined) return before
  if (value instanceof Date) return new Date(value)
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return bytesOf(value)
  if (value instanceof Map) return filled(value, new Map<unknown, unknown>(), known)
  if (value instanceof Set) return filled(value, new Set<unknown>(), known)
  if (isOpaque(value)) return value
  const copy: object = Array.isArray(value) ? [] : Object.create(Object.getPrototypeOf(value))
  known.set(value, copy)
  for (const name of Reflect.ownKeys(value)) {
    const property = Object.getOwnPropertyDescriptor(value, name)!
    if ('value' in property) property.value = deepCopy(property.value, known)
    Object.defineProperty(copy, name, property)
  }
  return copy
}

function filled(
  from: ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>,
  copy: Map<unknown, unknown> | Set<unknown>,
  known: Map<object, object>,
): object {
  known.set(from, copy)
  for (const [key, value] of from.entries()) {
    if (copy instanceof Set) copy.add(deepCopy(value, known))
    else copy.set(deepCopy(key, known), deepCopy(value, known))
  }
  return copy
}

function bytesOf(value: ArrayBufferView | ArrayBuffer): unknown {
  // Of a Buffer, `slice` would share the memory.
  return value instanceof Uint8Array
    ? Uint8Array.prototype.slice.call(value)
    : structuredClone(value)
}

function isOpaque(value: object): boolean {
  return [Promise, WeakMap, WeakSet, WeakRef, Error, RegExp, SharedArrayBuffer].some(
    (type) => value instanceof type,
  )
}
