/** Version numbers as ranges, both ends included: ascending, with a gap between two of them. */
export type VersionRanges = readonly (readonly [first: number, last: number])[]

/** Whether a number is in one of the ranges. */
export function hasVersion(ranges: VersionRanges, version: number): boolean {
  return ranges.some(([first, last]) => first <= version && version <= last)
}

/** The numbers of all ranges. */
export function joinedRanges(all: readonly VersionRanges[]): VersionRanges {
  const joined: [number, number][] = []
  for (const [first, last] of all.flat().sort(([a], [b]) => a - b)) {
    const before = joined.at(-1)
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last)
    else joined.push([first, last])
  }
  return joined
}

/** The ranges without a number. */
export function rangesWithout(ranges: VersionRanges, version: number): VersionRanges {
  return ranges.flatMap(([first, last]): VersionRanges => {
    if (version < first || version > last) return [[first, last]]
    const parts: VersionRanges = [
      [first, version - 1],
      [version + 1, last],
    ]
    return parts.filter(([from, to]) => from <= to)
  })
}

/** Whether a value is version ranges. */
export function isVersionRanges(value: unknown): value is VersionRanges {
  return (
    Array.isArray(value) &&
    value.every(
      (range) => Array.isArray(range) && range.length === 2 && range.every(Number.isSafeInteger),
    )
  )
}
