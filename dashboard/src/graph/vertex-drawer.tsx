import { useLayoutEffect, useRef } from 'preact/hooks'
import type {
  BackPressure,
  JobDetail,
  JobVertex,
  Metric,
  VertexDetail,
  VertexLive,
} from '../data/answers.ts'
import { jobHref } from '../data/route.ts'
import { useWatched } from '../data/watched.ts'
import { bytesText, numberText, percentText, watermarkText } from '../format.ts'
import { Notice } from '../parts/notice.tsx'
import { StateBadge } from '../parts/state-badge.tsx'
import { Table } from '../parts/table.tsx'
import { FlameGraph } from './flame-graph.tsx'
import { KeyGroupSkew } from './key-group-skew.tsx'
import { MetricChart } from './metric-chart.tsx'

/** Parts of the drawer of a vertex. */
export interface VertexDrawerProps {
  readonly job: JobDetail
  readonly vertex: JobVertex
  /** Undefined until it is known. */
  readonly load: VertexLive | undefined
}

/** The subtasks of a vertex, a chart of its metrics and its flame graph. Escape closes it. */
export function VertexDrawer({ job, vertex, load }: VertexDrawerProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  const close = jobHref(job.jid, 'graph')
  // In the same turn as the drawer appears, so that no key is pressed before the drawer follows it.
  useLayoutEffect(() => {
    heading.current?.focus({ preventScroll: !matchMedia('(max-width: 1100px)').matches })
    const onKey = ({ key }: KeyboardEvent): void => {
      if (key === 'Escape') location.hash = close
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [close])
  const path = `/jobs/${job.jid}/vertices/${vertex.id}`
  return (
    <aside class="card drawer" aria-labelledby="drawer-title">
      <div class="heading">
        <h2 id="drawer-title" ref={heading} tabIndex={-1}>
          {vertex.name}
        </h2>
        <a href={close}>Close</a>
      </div>
      <Subtasks path={path} />
      {load === undefined ? null : (
        <MetricChart
          job={job.jid}
          vertex={vertex.id}
          uid={load.uid}
          parallelism={vertex.parallelism}
        />
      )}
      {job.state === 'RUNNING' ? <KeyGroupSkew path={path} /> : null}
      {job.state === 'RUNNING' ? <FlameGraph path={path} /> : null}
    </aside>
  )
}

function Subtasks({ path }: { readonly path: string }) {
  const detail = useWatched<VertexDetail>(path)
  const pressure = useWatched<BackPressure>(`${path}/backpressure`)
  const watermarks = useWatched<readonly Metric[]>(`${path}/watermarks`)
  if (detail.data === undefined) return <Notice error={detail.error} />
  const loads = pressure.data?.subtasks ?? []
  return (
    <Table
      caption="Subtasks"
      columns={[
        { name: 'Subtask', isNumber: true, cell: ({ subtask }) => subtask },
        { name: 'State', cell: ({ status }) => <StateBadge state={status} /> },
        {
          name: 'Busy',
          isNumber: true,
          cell: ({ subtask }) => percentText(loads[subtask]?.busyRatio ?? Number.NaN),
        },
        {
          name: 'Back-pressured',
          isNumber: true,
          cell: ({ subtask }) => percentText(loads[subtask]?.ratio ?? Number.NaN),
        },
        {
          name: 'Records in',
          isNumber: true,
          cell: ({ metrics }) => numberText(metrics['read-records']),
        },
        {
          name: 'Records out',
          isNumber: true,
          cell: ({ metrics }) => numberText(metrics['write-records']),
        },
        { name: 'Sent', isNumber: true, cell: ({ metrics }) => bytesText(metrics['write-bytes']) },
        {
          name: 'Watermark',
          cell: ({ subtask }) =>
            watermarkText(Number(watermarks.data?.[subtask]?.value ?? Number.NEGATIVE_INFINITY)),
        },
      ]}
      rows={detail.data.subtasks}
      keyOf={({ subtask }) => subtask}
      empty="The operator has no subtask."
    />
  )
}
