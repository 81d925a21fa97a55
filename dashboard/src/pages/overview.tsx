import type { JobRow, JobsOverview, Overview } from '../data/answers.ts'
import { jobHref } from '../data/route.ts'
import { useWatched } from '../data/watched.ts'
import { durationText, timeText } from '../format.ts'
import { Figures } from '../parts/figures.tsx'
import { Notice } from '../parts/notice.tsx'
import { StateBadge } from '../parts/state-badge.tsx'
import { type Column, Table } from '../parts/table.tsx'

const ENDED = new Set(['FINISHED', 'CANCELED', 'FAILED'])

/** All jobs of the server, running and ended, and its slots. */
export function OverviewPage() {
  const overview = useWatched<Overview>('/overview')
  const jobs = useWatched<JobsOverview>('/jobs/overview')
  if (overview.data === undefined || jobs.data === undefined) {
    return <Notice error={overview.error ?? jobs.error} />
  }
  const all = jobs.data.jobs
  return (
    <>
      <h1>Jobs</h1>
      <Figures figures={figuresOf(overview.data)} />
      <section class="card" aria-labelledby="running">
        <h2 id="running">Running</h2>
        <Table
          caption="Running jobs"
          columns={RUNNING}
          rows={all.filter(({ state }) => !ENDED.has(state))}
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
const STATE: Column<JobRow> = { name: 'State', cell: ({ state }) => <StateBadge state={state} /> }
const TASKS: Column<JobRow> = {
  name: 'Tasks running',
  isNumber: true,
  cell: ({ tasks }) => `${tasks['running'] ?? 0} of ${tasks['total'] ?? 0}`,
}
const RUNNING: readonly Column<JobRow>[] = [
  NAME,
  STATE,
  { name: 'Uptime', isNumber: true, cell: ({ duration }) => durationText(duration) },
  TASKS,
  { name: 'Started', cell: (job) => timeText(job['start-time']) },
]
const OVER: readonly Column<JobRow>[] = [
  NAME,
  STATE,
  { name: 'Ran for', isNumber: true, cell: ({ duration }) => durationText(duration) },
  { name: 'Started', cell: (job) => timeText(job['start-time']) },
  { name: 'Ended', cell: (job) => timeText(job['end-time']) },
]
