/** How results differ from those that a plain computation gives. */
export interface Difference {
  /** Results that are not to be. */
  readonly wrong: readonly string[]
  /** Results that are missing. */
  readonly lost: readonly string[]
}

/** No difference. */
export const SAME: Difference = { wrong: [], lost: [] }

/** Compares results, each of which counts as often as it is there. */
export function differenceOf(actual: readonly string[], expected: readonly string[]): Difference {
  const counts = new Map<string, number>()
  for (const each of expected) counts.set(each, (counts.get(each) ?? 0) + 1)
  const wrong = actual.filter((each) => {
    const left = counts.get(each) ?? 0
    counts.set(each, left - 1)
    return left <= 0
  })
  const lost = [...counts].flatMap(([each, left]) => (left > 0 ? [each] : []))
  return { wrong, lost }
}
