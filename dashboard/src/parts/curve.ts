/**
 * A small curve as the points of a polyline, in a drawing of some pixels: from 0 at the bottom to the largest value, and to 1
 * at least, at the top. Null: there was no value.
 */
export function curveOf(
  values: readonly (number | null)[],
  { width, height }: { readonly width: number; readonly height: number },
): string {
  const most = Math.max(1, ...values.map((value) => value ?? 0))
  const step = width / Math.max(1, values.length - 1)
  return values
    .flatMap((value, i) => {
      if (value === null) return []
      const y = 1 + (height - 2) * (1 - Math.max(0, value) / most)
      return [`${(i * step).toFixed(1)},${y.toFixed(1)}`]
    })
    .join(' ')
}
