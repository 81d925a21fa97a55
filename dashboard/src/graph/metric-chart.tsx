import { useState } from 'preact/hooks'
import type { Metric } from '../data/answers.ts'
import { useHistory } from '../data/samples.ts'
import { useWatched } from '../data/watched.ts'
import { bytesText, numberText } from '../format.ts'
import { Chart } from '../parts/chart.tsx'

/** Parts of the chart of a vertex. */
export interface MetricChartProps {
  readonly job: string
  readonly vertex: string
  /** First part of the names of its metrics. */
  readonly uid: string
  readonly parallelism: number
}

/** Subtasks that have lines of their own. */
const MOST = 6
/** Metrics that are shown first, where the vertex has them. */
const FIRST = ['numRecordsInPerSecond', 'numRecordsOutPerSecond']

/** One metric of a vertex over time, a line for each subtask; the reader chooses the metric. */
export function MetricChart({ job, vertex, uid, parallelism }: MetricChartProps) {
  const names = useWatched<readonly Metric[]>(`/jobs/${job}/vertices/${vertex}/subtasks/metrics`)
  const [picked, setPicked] = useState<string>()
  const all = (names.data ?? []).map(({ id }) => id).sort()
  const metric = picked ?? FIRST.find((name) => all.includes(name)) ?? all[0]
  const subtasks = Array.from({ length: Math.min(MOST, parallelism) }, (_, i) => i)
  const samples = useHistory(
    job,
    metric === undefined ? [] : subtasks.map((i) => `${uid}.${i}.${metric}`),
  )
  if (metric === undefined) return null
  return (
    <div>
      <label for="metric">Metric</label>
      <select
        id="metric"
        value={metric}
        onChange={({ currentTarget }) => setPicked(currentTarget.value)}
      >
        {all.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      <Chart
        title={metric}
        names={subtasks.map((i) => `subtask ${i}`)}
        samples={samples}
        text={/Bytes/.test(metric) ? bytesText : numberText}
      />
    </div>
  )
}
