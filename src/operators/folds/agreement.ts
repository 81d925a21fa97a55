/** Numbers that differ by less than this share of the greatest one come from another order of additions. */
const ROUNDING = 1e-9

/**
 * Whether two values are equal field by field, but for rounding: numbers may differ by a tiny share of `scale`, the
 * greatest number of the calculation. The order of the entries of maps and sets does not count.
 */
export function areAlike(a: unknown, b: unknown, scale = 0): boolean {
  if (Object.is(a, b)) return true
  if (typeof a === 'number' && typeof b === 'number') {
    return Math.abs(a - b) <= ROUNDING * Math.max(Math.abs(a), Math.abs(b), scale)
  }
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false
  if (a instanceof Date && b instanceof Date) return a.getTime() === b.getTime()
  if (a instanceof Map && b instanceof Map) return areAlikeMaps(a, b, scale)
  if (a instanceof Set && b instanceof Set) {
    return haveSame(a, b) || areAlike([...a], [...b], scale)
  }
  const names = Object.keys(a)
  if (names.length !== Object.keys(b).length) return false
  return names.every((name) => name in b && areAlike(fieldOf(a, name), fieldOf(b, name), scale))
}

type AnyMap = ReadonlyMap<unknown, unknown>

/** Keys that are objects are compared in the order of the entries. */
function areAlikeMaps(a: AnyMap, b: AnyMap, scale: number): boolean {
  if (a.size !== b.size) return false
  const inOrder = [...b.keys()]
  return [...a].every(([key, value], at) => {
    const other = b.has(key) ? key : inOrder[at]
    return areAlike(key, other, scale) && areAlike(value, b.get(other), scale)
  })
}

function haveSame(a: ReadonlySet<unknown>, b: ReadonlySet<unknown>): boolean {
  return a.size === b.size && [...a].every((value) => b.has(value))
}

/** The greatest absolute value of the finite numbers in a value. */
export function scaleOf(value: unknown): number {
  if (typeof value === 'number') return Number.isFinite(value) ? Math.abs(value) : 0
  if (typeof value !== 'object' || value === null) return 0
  const parts = value instanceof Map || value instanceof Set ? [...value] : Object.values(value)
  return parts.reduce((most: number, part: unknown) => Math.max(most, scaleOf(part)), 0)
}

function fieldOf(value: object, name: string): unknown {
  return (value as Record<string, unknown>)[name]
}
