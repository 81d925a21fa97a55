import { useMemo } from 'preact/hooks'
import type {
  Checkpoint,
  CheckpointConfig,
  CheckpointDetail,
  Checkpoints,
  JobDetail,
} from '../data/answers.ts'
import { jobHref } from '../data/route.ts'
import { useWatched } from '../data/watched.ts'
import { bytesText, durationText, timeText } from '../format.ts'
import { Chart } from '../parts/chart.tsx'
import { type Figure, Figures } from '../parts/figures.tsx'
import { Notice } from '../parts/notice.tsx'
import { StateBadge } from '../parts/state-badge.tsx'
import { type Column, Table } from '../parts/table.tsx'

/** Parts of the page of checkpoints. */
export interface CheckpointsPageProps {
  readonly job: JobDetail
  /** Id of the checkpoint whose detail is shown. */
  readonly chosen: string | undefined
}

/** Checkpoints of a job: counts, size and duration over time, the history, and the detail of one. */
export function CheckpointsPage({ job, chosen }: CheckpointsPageProps) {
  const { data, error } = useWatched<Checkpoints>(`/jobs/${job.jid}/checkpoints`)
  const config = useWatched<CheckpointConfig>(`/jobs/${job.jid}/checkpoints/config`)
  if (data === undefined) return <Notice error={error} />
  return (
    <>
      <Figures figures={figuresOf(data, config.data)} />
      <Charts history={data.history} />
      {chosen === undefined ? null : <Detail job={job} checkpoint={chosen} />}
      <section class="card" aria-labelledby="history">
        <h2 id="history">History</h2>
        <Table
          caption="Checkpoints, newest first"
          columns={columnsOf(job.jid)}
          rows={data.history}
          keyOf={({ id }) => id}
          empty="The job has taken no checkpoint yet."
        />
      </section>
    </>
  )
}

function figuresOf({ counts, latest }: Checkpoints, config?: CheckpointConfig): readonly Figure[] {
  const { completed, restored, failed } = latest
  return [
    {
      name: 'Completed',
      value: counts.completed,
      note: completed === null ? undefined : `last: ${durationText(completed.end_to_end_duration)}`,
    },
    { name: 'In progress', value: counts.in_progress },
    { name: 'Failed', value: counts.failed, note: failed?.failure_message },
    {
      name: 'State',
      value: completed === null ? '–' : bytesText(completed.state_size),
      note: config === undefined ? undefined : `store: ${config.state_backend}`,
    },
    {
      name: 'Restored from',
      value:
        restored === null
          ? '–'
          : `${restored.is_savepoint ? 'savepoint' : 'checkpoint'} ${restored.id}`,
      note: restored === null ? undefined : timeText(restored.restore_timestamp),
    },
    {
      name: 'Interval',
      value:
        config === undefined || config.interval >= Number.MAX_SAFE_INTEGER
          ? 'none'
          : durationText(config.interval),
      note: config?.mode.replace('_', ' '),
    },
  ]
}

function Charts({ history }: { readonly history: readonly Checkpoint[] }) {
  const done = history.filter(({ status }) => status === 'COMPLETED').toReversed()
  const newest = done.at(-1)?.id
  const [sizes, durations] = useMemo(() => {
    const times = done.map(({ trigger_timestamp }) => trigger_timestamp / 1000)
    return [
      [times, done.map((c) => c.checkpointed_size), done.map((c) => c.state_size)],
      [times, done.map((c) => c.end_to_end_duration)],
    ]
  }, [newest, done.length])
  if (done.length === 0) return null
  return (
    <div class="columns">
      <section class="card">
        <Chart
          title="Duration"
          names={['end to end']}
          samples={durations!}
          text={durationText}
          areBars
        />
      </section>
      <section class="card">
        <Chart
          title="Size"
          names={['written by the checkpoint', 'all state']}
          samples={sizes!}
          text={bytesText}
        />
      </section>
    </div>
  )
}

function columnsOf(job: string): readonly Column<Checkpoint>[] {
  return [
    {
      name: 'Checkpoint',
      cell: ({ id, is_savepoint }) => (
        <a href={jobHref(job, 'checkpoints', String(id))}>
          {is_savepoint ? 'savepoint' : 'checkpoint'} {id}
        </a>
      ),
    },
    { name: 'State', cell: ({ status }) => <StateBadge state={status} /> },
    { name: 'Triggered', cell: (checkpoint) => timeText(checkpoint.trigger_timestamp) },
    {
      name: 'Duration',
      isNumber: true,
      cell: (checkpoint) => durationText(checkpoint.end_to_end_duration),
    },
    {
      name: 'Written',
      isNumber: true,
      cell: (checkpoint) => bytesText(checkpoint.checkpointed_size),
    },
    { name: 'State size', isNumber: true, cell: (checkpoint) => bytesText(checkpoint.state_size) },
    {
      name: 'Acknowledged',
      isNumber: true,
      cell: (checkpoint) => `${checkpoint.num_acknowledged_subtasks} of ${checkpoint.num_subtasks}`,
    },
  ]
}

function Detail({ job, checkpoint }: { readonly job: JobDetail; readonly checkpoint: string }) {
  const { data, error } = useWatched<CheckpointDetail>(
    `/jobs/${job.jid}/checkpoints/details/${encodeURIComponent(checkpoint)}`,
  )
  return (
    <section class="card" aria-labelledby="detail">
      <div class="heading">
        <h2 id="detail">Checkpoint {checkpoint}</h2>
        <a href={jobHref(job.jid, 'checkpoints')}>Close</a>
      </div>
      {data === undefined ? (
        <Notice error={error} />
      ) : (
        <>
          <p>
            <StateBadge state={data.status} /> {data.failure_message ?? ''}
            {data.external_path === undefined ? null : <code>{data.external_path}</code>}
          </p>
          <Table
            caption="Operators of the checkpoint"
            columns={[
              { name: 'Operator', cell: ({ name }) => name },
              {
                name: 'Written',
                isNumber: true,
                cell: ({ task }) => bytesText(task.checkpointed_size),
              },
              {
                name: 'Duration',
                isNumber: true,
                cell: ({ task }) => durationText(task.end_to_end_duration),
              },
              {
                name: 'Acknowledged',
                isNumber: true,
                cell: ({ task }) => `${task.num_acknowledged_subtasks} of ${task.num_subtasks}`,
              },
            ]}
            rows={job.vertices.flatMap(({ id, name }) => {
              const task = data.tasks[id]
              return task === undefined ? [] : [{ id, name, task }]
            })}
            keyOf={({ id }) => id}
            empty="Nothing is known of its operators."
          />
        </>
      )}
    </section>
  )
}
