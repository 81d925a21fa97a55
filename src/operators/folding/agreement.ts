import type { Fold } from '../windows/contents.ts'

/** Numbers that differ by less than this share come from another order of additions. */
const ROUNDING = 1e-9

/** Makes a copy that shares no object with the value; undefined where that is not possible. */
export type CopyValue = (value: unknown) => unknown

/**
 * Whether three records give the same sum one after the other, and in two parts that are merged. A fold for which
 * they differ must see its records one by one: for example a `reduce` that counts its second argument as one record,
 * or a `merge` that was never written.
 */
export function foldsAgree<IN, ACC>(
  fold: Fold<IN, ACC>,
  [a, b, c]: readonly [IN, IN, IN],
  copy: CopyValue,
): boolean {
  const fresh = (value: IN): IN => copy(value) as IN
  try {
    const inTurn = fold.add(fresh(c), fold.add(fresh(b), fold.add(fresh(a), undefined)))
    const rest = fold.add(fresh(c), fold.add(fresh(b), undefined))
    const merged = fold.merge(fold.add(fresh(a), undefined), rest)
    return areAlike(inTurn, merged)
  } catch {
    // The receiver calls the fold with the same records, and reports what it throws.
    return false
  }
}

/** Whether two values are equal field by field, but for rounding. */
export function areAlike(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (typeof a === 'number' && typeof b === 'number') {
    return Math.abs(a - b) <= ROUNDING * Math.max(Math.abs(a), Math.abs(b))
  }
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false
  if (a instanceof Date && b instanceof Date) return a.getTime() === b.getTime()
  if (a instanceof Map && b instanceof Map) return areAlike([...a], [...b])
  if (a instanceof Set && b instanceof Set) return areAlike([...a], [...b])
  const names = Object.keys(a)
  if (names.length !== Object.keys(b).length) return false
  return names.every((name) => name in b && areAlike(fieldOf(a, name), fieldOf(b, name)))
}

function fieldOf(value: object, name: string): unknown {
  return (value as Record<string, unknown>)[name]
}
