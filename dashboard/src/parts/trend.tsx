/** Parts of a small curve beside its newest value. */
export interface TrendProps {
  /** Values over time, the oldest first; null where there was none. */
  readonly values: readonly (number | null)[]
  readonly text: (value: number) => string
}

const WIDTH = 80
const HEIGHT = 20

/** The newest value, and how it came about in the last ten minutes as a small curve. */
export function Trend({ values, text }: TrendProps) {
  const last = values.at(-1)
  return (
    <span class="trend">
      <svg width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
        <polyline points={pointsOf(values)} />
      </svg>{' '}
      {last === null || last === undefined ? '–' : text(last)}
    </span>
  )
}

/** The curve as pairs of coordinates, from 0 at the bottom to the largest value at the top. */
export function pointsOf(values: readonly (number | null)[]): string {
  const most = Math.max(1, ...values.map((value) => value ?? 0))
  const step = WIDTH / Math.max(1, values.length - 1)
  return values
    .flatMap((value, i) => {
      if (value === null) return []
      const y = 1 + (HEIGHT - 2) * (1 - Math.max(0, value) / most)
      return [`${(i * step).toFixed(1)},${y.toFixed(1)}`]
    })
    .join(' ')
}
