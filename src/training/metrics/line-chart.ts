/** A line of a chart. */
export interface ChartSeries {
  readonly name: string
  /** Points in order of x. */
  readonly points: readonly (readonly [x: number, y: number])[]
}

/** One panel of a picture. */
export interface LineChart {
  readonly title: string
  readonly xLabel: string
  readonly series: readonly ChartSeries[]
}

const WIDTH = 640
const PANEL_HEIGHT = 260
const MARGIN = { left: 72, right: 16, top: 32, bottom: 40 }
/** Colours that are readable on white and distinct for colour-blind readers (Okabe and Ito). */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7']
const TICKS = 5

/** An SVG document with the charts, one below the other; series without finite points are left out. */
export function lineChartsSvg(charts: readonly LineChart[]): string {
  const height = PANEL_HEIGHT * charts.length
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${height}" fill="white"/>`,
    ...charts.flatMap((chart, index) => [
      `<g transform="translate(0 ${index * PANEL_HEIGHT})">`,
      ...panel(chart),
      '</g>',
    ]),
    '</svg>',
    '',
  ].join('\n')
}

/** A range of values and its place in the picture. */
interface Scale {
  readonly low: number
  readonly high: number
  place(value: number): number
}

function panel(chart: LineChart): string[] {
  const series = chart.series
    .map(({ name, points }) => ({
      name,
      points: points.filter((point) => point.every(Number.isFinite)),
    }))
    .filter(({ points }) => points.length > 0)
  const all = series.flatMap(({ points }) => points)
  const x = scaleOf(
    all.map(([value]) => value),
    MARGIN.left,
    WIDTH - MARGIN.right,
  )
  const y = scaleOf(
    all.map(([, value]) => value),
    PANEL_HEIGHT - MARGIN.bottom,
    MARGIN.top,
  )
  return [
    `<text x="${MARGIN.left}" y="20" font-weight="bold">${escaped(chart.title)}</text>`,
    ...axes(x, y, chart.xLabel),
    ...series.flatMap((one, index) => line(one, index, { x, y })),
  ]
}

function scaleOf(values: readonly number[], from: number, to: number): Scale {
  let low = Math.min(...values)
  let high = Math.max(...values)
  if (!(low < high)) {
    low = Number.isFinite(low) ? low - 1 : 0
    high = low + 2
  }
  return { low, high, place: (value) => from + ((value - low) / (high - low)) * (to - from) }
}

function axes(x: Scale, y: Scale, xLabel: string): string[] {
  const bottom = PANEL_HEIGHT - MARGIN.bottom
  const right = WIDTH - MARGIN.right
  const ticks = Array.from({ length: TICKS }, (_, i) => i / (TICKS - 1))
  return [
    ...ticks.map((share) => {
      const value = y.low + share * (y.high - y.low)
      const at = y.place(value).toFixed(1)
      return `<path d="M${MARGIN.left} ${at}H${right}" stroke="#ddd"/><text x="${MARGIN.left - 6}" y="${at}" dy="4" text-anchor="end">${label(value)}</text>`
    }),
    ...ticks.map((share) => {
      const value = x.low + share * (x.high - x.low)
      return `<text x="${x.place(value).toFixed(1)}" y="${bottom + 16}" text-anchor="middle">${label(value)}</text>`
    }),
    `<path d="M${MARGIN.left} ${MARGIN.top}V${bottom}H${right}" fill="none" stroke="#444"/>`,
    `<text x="${(MARGIN.left + right) / 2}" y="${bottom + 32}" text-anchor="middle">${escaped(xLabel)}</text>`,
  ]
}

function line(
  { name, points }: ChartSeries,
  index: number,
  { x, y }: { readonly x: Scale; readonly y: Scale },
): string[] {
  const colour = COLOURS[index % COLOURS.length]
  const path = points
    .map(([px, py]) => `${x.place(px).toFixed(1)},${y.place(py).toFixed(1)}`)
    .join(' ')
  const legend = WIDTH - MARGIN.right - 8
  const row = MARGIN.top + 14 + index * 16
  return [
    `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>`,
    `<text x="${legend}" y="${row}" text-anchor="end" fill="${colour}">${escaped(name)}</text>`,
  ]
}

/** A number with four significant digits, without trailing zeros; with an exponent from a million on. */
function label(value: number): string {
  return Math.abs(value) >= 1e6 ? value.toExponential(2) : String(Number(value.toPrecision(4)))
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
