import type { JobDetail, JobLive, JobVertex, VertexLive } from '../data/answers.ts'
import { jobHref } from '../data/route.ts'
import { numberText, percentText, watermarkText } from '../format.ts'
import { layoutOf, type Place } from './layout.ts'
import { LEVEL_TEXT, loadLevel } from './load-level.ts'

/** Parts of the drawing. */
export interface GraphDrawingProps {
  readonly job: JobDetail
  readonly live: JobLive
  readonly chosen: string | undefined
  /** Whether the boxes are one below the other. */
  readonly isNarrow: boolean
}

const WIDTH = 272
/** Height of a box whose name takes one line, and of each further line of text. */
const HEIGHT = 140
const LINE_HEIGHT = 19
/** Characters of a line of a name; the narrowest words leave some room. */
const LINE_LENGTH = 28

/** The job graph: a box for each vertex, in layers from the sources to the sinks. */
export function GraphDrawing({ job, live, chosen, isNarrow }: GraphDrawingProps) {
  const nodes = job.plan.nodes.map(({ id, inputs = [] }) => ({
    id,
    inputs: inputs.map((i) => i.id),
  }))
  const hasWatermarks = live.vertices.some(({ watermark }) => watermark !== null)
  const boxHeight = heightOf(job.vertices, hasWatermarks)
  const { places, width, height } = layoutOf(nodes, {
    direction: isNarrow ? 'column' : 'right',
    width: WIDTH,
    height: boxHeight,
    layerGap: isNarrow ? 40 : 100,
    gap: 24,
  })
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="scroll graph" aria-label="Operators of the job" tabIndex={0}>
      <div class="drawing" style={{ width: `${width}px`, height: `${height}px` }}>
        <Edges job={job} places={places} isNarrow={isNarrow} size={{ width, height, boxHeight }} />
        {job.vertices.map((vertex) => (
          <VertexBox
            key={vertex.id}
            job={job.jid}
            vertex={vertex}
            load={live.vertices.find(({ id }) => id === vertex.id)}
            isChosen={vertex.id === chosen}
            place={places.get(vertex.id) ?? { x: 0, y: 0 }}
            height={boxHeight}
            hasWatermarks={hasWatermarks}
          />
        ))}
      </div>
    </section>
  )
}

interface EdgesProps extends Pick<GraphDrawingProps, 'job' | 'isNarrow'> {
  readonly places: ReadonlyMap<string, Place>
  readonly size: { readonly width: number; readonly height: number; readonly boxHeight: number }
}

function Edges({ job, places, isNarrow, size: { width, height, boxHeight } }: EdgesProps) {
  const edges = job.plan.nodes.flatMap(({ id, inputs = [] }) =>
    inputs.map((input) => ({ from: input.id, to: id, kind: input.ship_strategy.toLowerCase() })),
  )
  return (
    <svg width={width} height={height} aria-hidden="true">
      <defs>
        <marker
          id="arrow"
          viewBox="0 0 8 8"
          refX="7"
          refY="4"
          markerWidth="8"
          markerHeight="8"
          orient="auto"
        >
          <path d="M0 0L8 4L0 8z" />
        </marker>
      </defs>
      {edges.map(({ from, to, kind }) => {
        const line = lineOf(places.get(from), places.get(to), { isNarrow, boxHeight })
        if (line === undefined) return null
        return (
          <g key={`${from} ${to}`}>
            <path class="edge" d={line.path} marker-end="url(#arrow)" />
            {isNarrow ? null : (
              <text x={line.x} y={line.y + 4} text-anchor="middle">
                {kind}
              </text>
            )}
          </g>
        )
      })}
    </svg>
  )
}

/** A curve from one box to another, and its middle. In a column it runs on the left of the boxes. */
function lineOf(
  from: Place | undefined,
  to: Place | undefined,
  { isNarrow, boxHeight }: { readonly isNarrow: boolean; readonly boxHeight: number },
) {
  if (from === undefined || to === undefined) return undefined
  const [y1, y2] = [from.y + boxHeight / 2, to.y + boxHeight / 2]
  const [x1, x2] = [isNarrow ? from.x : from.x + WIDTH, to.x]
  const middle = isNarrow ? -8 : (x1 + x2) / 2
  const path = `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`
  return { path, x: middle, y: (y1 + y2) / 2 }
}

interface VertexBoxProps {
  readonly job: string
  readonly vertex: JobVertex
  readonly load: VertexLive | undefined
  readonly isChosen: boolean
  readonly place: Place
  readonly height: number
  /** Whether the job has event time, so that a vertex without a watermark says so. */
  readonly hasWatermarks: boolean
}

function VertexBox(props: VertexBoxProps) {
  const { job, vertex, load, isChosen, hasWatermarks, height } = props
  const { x, y } = props.place
  const level = load === undefined ? 'quiet' : loadLevel(load)
  return (
    <a
      class={`vertex ${level}`}
      href={jobHref(job, 'graph', isChosen ? undefined : vertex.id)}
      aria-current={isChosen ? 'true' : undefined}
      style={{ left: `${x}px`, top: `${y}px`, width: `${WIDTH}px`, height: `${height}px` }}
    >
      <strong>{vertex.name}</strong>
      <span class="quiet">
        {vertex.parallelism === 1 ? '1 subtask' : `${vertex.parallelism} subtasks`}
      </span>
      {load === undefined ? null : (
        <>
          <LoadBar load={load} />
          <span>
            busy {percentText(load.busy)}, back-pressured {percentText(load.backPressured)}
          </span>
          <span class="level">{LEVEL_TEXT[level]}</span>
          <span class="quiet">
            in {numberText(load.recordsInPerSecond)}/s, out {numberText(load.recordsOutPerSecond)}/s
          </span>
          {hasWatermarks ? <Watermark load={load} subtasks={vertex.parallelism} /> : null}
        </>
      )}
    </a>
  )
}

interface WatermarkProps {
  readonly load: VertexLive
  readonly subtasks: number
}

/** How far event time has come, and how many subtasks it has not reached. */
function Watermark({ load: { watermark, withoutWatermark }, subtasks }: WatermarkProps) {
  const isPart = watermark !== null && withoutWatermark > 0
  return (
    <>
      <span>watermark {watermark === null ? 'none yet' : watermarkText(watermark)}</span>
      {isPart ? (
        <span class="quiet">
          none yet in {withoutWatermark} of {subtasks} subtasks
        </span>
      ) : null}
    </>
  )
}

/** Room for the longest name, and for the lines about watermarks. */
function heightOf(vertices: readonly JobVertex[], hasWatermarks: boolean): number {
  const lines = vertices.map(({ name }) => Math.ceil(name.length / LINE_LENGTH))
  const more = Math.max(1, ...lines) - 1 + (hasWatermarks ? 2 : 0)
  return HEIGHT + more * LINE_HEIGHT
}

function LoadBar({ load: { busy, backPressured } }: { readonly load: VertexLive }) {
  const total = Math.max(1, busy + backPressured)
  const width = (share: number): string => `${(share / total) * 100}%`
  return (
    <span class="load-bar" aria-hidden="true">
      <span class="busy" style={{ width: width(busy) }} />
      <span class="held-up" style={{ width: width(backPressured) }} />
    </span>
  )
}
