import { curveOf } from './curve.ts'

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
        <polyline points={curveOf(values, { width: WIDTH, height: HEIGHT })} />
      </svg>{' '}
      {last === null || last === undefined ? '–' : text(last)}
    </span>
  )
}
