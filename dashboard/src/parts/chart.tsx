import { useEffect, useRef } from 'preact/hooks'
import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import type { Samples } from '../data/append-samples.ts'
import { bytesText } from '../format.ts'

/** Parts of a chart. */
export interface ChartProps {
  readonly title: string
  readonly names: readonly string[]
  readonly samples: Samples
  /** Text of a value on the axis and in the legend. */
  readonly text: (value: number) => string
  /** Whether values are drawn as bars. */
  readonly areBars?: boolean
  /** Times in s at which something happened; each is a vertical line. */
  readonly marks?: readonly number[]
  /** What happened at the marks. */
  readonly markName?: string
}

const HEIGHT = 180
/** Distances of the lines of the grid: whole seconds, and powers of two for bytes. */
const SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600, 86_400]
const POWERS = Array.from({ length: 50 }, (_, i) => 2 ** i)

/** Values over time as lines or bars. The newest values are beside it as text. */
export function Chart(props: ChartProps) {
  const { title, names, samples, text, areBars = false, marks = NONE, markName = '' } = props
  const place = useRef<HTMLDivElement>(null)
  const shownMarks = useRef(marks)
  const plot = useRef<UPlot>(undefined)
  const subject = names.join('\n')
  useEffect(() => {
    const element = place.current!
    const draw = (): void => {
      plot.current?.destroy()
      plot.current = new UPlot(
        optionsOf(element, { names, text, areBars, marks: shownMarks }),
        samples as UPlot.AlignedData,
        element,
      )
    }
    draw()
    const sizes = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }),
    )
    sizes.observe(element)
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', draw)
    return () => {
      scheme.removeEventListener('change', draw)
      sizes.disconnect()
      plot.current?.destroy()
    }
  }, [subject, text, areBars])
  useEffect(() => {
    shownMarks.current = marks
    plot.current?.setData(samples as UPlot.AlignedData)
  }, [samples, marks])
  return (
    <figure class="chart">
      <figcaption>
        <strong>{title}</strong>
        <ul class="legend">
          {names.map((name, i) => (
            <li key={name}>
              <span class={`swatch series-${i % SERIES}`} aria-hidden="true" /> {name}{' '}
              <b>{lastText(samples[i + 1], text)}</b>
            </li>
          ))}
          {marks.length === 0 ? null : (
            <li>
              <span class="swatch mark" aria-hidden="true" /> {markName} <b>{marks.length}</b>
            </li>
          )}
        </ul>
      </figcaption>
      <div ref={place} aria-hidden="true" />
    </figure>
  )
}

const NONE: readonly number[] = []
/** Number of colours of series in the style sheet. */
const SERIES = 6

function lastText(values: readonly (number | null)[] | undefined, text: (value: number) => string) {
  const last = values?.at(-1)
  return last === null || last === undefined ? '–' : text(last)
}

interface Drawing extends Required<Pick<ChartProps, 'names' | 'text' | 'areBars'>> {
  readonly marks: { readonly current: readonly number[] }
}

function optionsOf(element: HTMLElement, { names, text, areBars, marks }: Drawing): UPlot.Options {
  const style = getComputedStyle(element)
  const colour = (name: string): string => style.getPropertyValue(name).trim()
  const axis = { stroke: colour('--quiet'), grid: { stroke: colour('--line'), width: 1 } }
  return {
    width: element.clientWidth || 300,
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: false, y: false } },
    axes: [
      { ...axis, size: 32, space: 80, incrs: SECONDS, values: (_, times) => times.map(clockText) },
      {
        ...axis,
        size: (_, values) => widthOf(values ?? []),
        values: (_, values) => values.map((value) => text(value)),
        ...(text === bytesText ? { incrs: POWERS } : {}),
      },
    ],
    hooks: { draw: [(plot) => drawMarks(plot, marks.current, colour('--mark'))] },
    scales: { y: { range: (_, least, most) => rangeOf(least, most, areBars) } },
    series: [
      {},
      ...names.map((name, i) => ({
        label: name,
        stroke: colour(`--series-${i % SERIES}`),
        width: 2,
        spanGaps: true,
        // One sample alone is no line.
        points: { show: (plot: UPlot) => plot.data[0].length < 3, size: 7 },
        ...(areBars
          ? {
              fill: colour(`--series-${i % SERIES}`),
              paths: UPlot.paths.bars!({ size: [0.7, 24] }),
            }
          : {}),
      })),
    ],
  }
}

/** Room for the texts of the axis, pixels. */
function widthOf(texts: readonly string[]): number {
  return Math.max(56, 22 + 7.5 * Math.max(...texts.map(({ length }) => length)))
}

/** Draws a vertical line at each time. */
function drawMarks(plot: UPlot, times: readonly number[], colour: string): void {
  const { ctx, bbox } = plot
  ctx.save()
  ctx.strokeStyle = colour
  ctx.lineWidth = 2 * devicePixelRatio
  ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio])
  for (const time of times) {
    const x = plot.valToPos(time, 'x', true)
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
  }
  ctx.restore()
}

/** Bars begin at 0; lines get some room above and below. */
function rangeOf(least: number | null, most: number | null, areBars: boolean): [number, number] {
  if (least === null || most === null) return [0, 1]
  const from = areBars ? Math.min(0, least) : least
  if (from === most) return [Math.min(0, from), most === 0 ? 1 : most + Math.abs(most) * 0.1]
  const room = (most - from) * 0.1
  return [from >= 0 && from - room < 0 ? 0 : from - (areBars ? 0 : room), most + room]
}

function clockText(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString('en-GB')
}
