import type { ComponentChildren } from 'preact'
import type { JobRow, JobsOverview, Overview } from '../data/answers.ts'
import { jobHref } from '../data/route.ts'
import { useHistory } from '../data/samples.ts'
import { useTitle } from '../data/title.ts'
import { useWatched } from '../data/watched.ts'
import { durationText, numberText, timeText } from '../format.ts'
import { Figures } from '../parts/figures.tsx'
import { FailureLine } from '../parts/last-failure.tsx'
import { Notice } from '../parts/notice.tsx'
import { StateBadge } from '../parts/state-badge.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { Trend } from '../parts/trend.tsx'

/** Running jobs with curves; a stream of events carries at most 16 answers. */
const MOST_CURVES = 12
const ENDED = new Set(['FINISHED', 'CANCELED', 'FAILED'])

/** All jobs of the server, running and ended, and its slots. */
export function OverviewPage() {
  const overview = useWatched<Overview>('/overview')
  const jobs = useWatched<JobsOverview>('/jobs/overview')
  useTitle('Jobs')
  if (overview.data === undefined || jobs.data === undefined) {
    return <Notice error={overview.error ?? jobs.error} />
  }
  const all = jobs.data.jobs
  const running = all.filter(({ state }) => !ENDED.has(state))
  const withCurves = new Set(running.slice(0, MOST_CURVES))
  return (
    <>
      <h1>Jobs</h1>
      <Figures figures={figuresOf(overview.data)} />
      <section class="card" aria-labelledby="running">
        <h2 id="running">Running</h2>
        <Table
          caption="Running jobs"
          columns={runningColumns((job) => withCurves.has(job))}
          rows={running}
          keyOf={({ jid }) => jid}
          empty="No job is running."
        />
      </section>
      <section class="card" aria-labelledby="ended">
        <h2 id="ended">Ended</h2>
        <Table
          caption="Ended jobs"
          columns={OVER}
          rows={all.filter(({ state }) => ENDED.has(state))}
          keyOf={({ jid }) => jid}
          empty="No job has ended."
        />
      </section>
    </>
  )
}

function figuresOf(overview: Overview) {
  return [
    { name: 'Running', value: overview['jobs-running'] },
    { name: 'Finished', value: overview['jobs-finished'] },
    { name: 'Cancelled', value: overview['jobs-cancelled'] },
    { name: 'Failed', value: overview['jobs-failed'] },
    { name: 'Slots', value: overview['slots-total'] },
    { name: 'Version', value: overview['flink-commit'].replace(/^weir /, '') },
  ]
}

const NAME: Column<JobRow> = {
  name: 'Job',
  cell: ({ jid, name }) => (
    <a href={jobHref(jid)}>
      <strong>{name}</strong> <code class="quiet">{jid.slice(0, 8)}</code>
    </a>
  ),
}
const STATE: Column<JobRow> = {
  name: 'State',
  cell: ({ state, restarts }) => (
    <>
      <StateBadge state={state} />
      {restarts === 0 ? null : <small class="quiet"> restarts: {restarts}</small>}
    </>
  ),
}
const FAILURE: Column<JobRow> = {
  name: 'Last failure',
  cell: ({ jid, lastFailure }) =>
    lastFailure === null ? 'none' : <FailureLine job={jid} failure={lastFailure} />,
}
const TASKS: Column<JobRow> = {
  name: 'Tasks running',
  isNumber: true,
  cell: ({ tasks }) => `${tasks['running'] ?? 0} of ${tasks['total'] ?? 0}`,
}

/** The columns of running jobs; those that have curves show them. */
function runningColumns(hasCurves: (job: JobRow) => boolean): readonly Column<JobRow>[] {
  const curve =
    (series: keyof typeof SERIES) =>
    (job: JobRow): ComponentChildren =>
      hasCurves(job) ? <JobTrend id={job.jid} series={series} /> : '–'
  return [
    NAME,
    STATE,
    { name: 'Uptime', isNumber: true, cell: ({ duration }) => durationText(duration) },
    TASKS,
    { name: 'Records read', isNumber: true, cell: curve('read') },
    { name: 'Lag', isNumber: true, cell: curve('lag') },
    { name: 'Started', cell: (job) => timeText(job['start-time']) },
    FAILURE,
  ]
}

/** The series of a job in both columns, so that they are one answer. */
const SERIES = { read: 'job.recordsPerSecond', lag: 'job.pendingRecords' }

function JobTrend({ id, series }: { readonly id: string; readonly series: keyof typeof SERIES }) {
  const [, read = [], lag = []] = useHistory(id, Object.values(SERIES))
  return series === 'read' ? (
    <Trend values={read} text={(value) => `${numberText(value)}/s`} />
  ) : (
    <Trend values={lag} text={numberText} />
  )
}

const OVER: readonly Column<JobRow>[] = [
  NAME,
  STATE,
  { name: 'Ran for', isNumber: true, cell: ({ duration }) => durationText(duration) },
  { name: 'Started', cell: (job) => timeText(job['start-time']) },
  { name: 'Ended', cell: (job) => timeText(job['end-time']) },
  FAILURE,
]
