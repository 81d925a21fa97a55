import { useMemo, useRef } from 'preact/hooks'
import type { SourceTopic, TopicPartition, Topics } from '../data/job-data.ts'
import { type Rate, RateMeter } from '../data/rate-meter.ts'
import { useRequested } from '../data/requested.ts'
import { useHistory } from '../data/samples.ts'
import { numberText } from '../format.ts'
import { Chart } from '../parts/chart.tsx'
import { Notice } from '../parts/notice.tsx'
import { Table } from '../parts/table.tsx'

/** Time between two requests, ms. */
const EVERY_MS = 2000
/** Sources with lines in the charts: as many as there are colours. */
const MOST_LINES = 6

/** The topics that the sources of a job read: how far, how fast, and how much is left. */
export function TopicsPage({ id }: { readonly id: string }) {
  const { data, error } = useRequested<Topics>(`/weir/jobs/${id}/topics`, EVERY_MS)
  const meter = useRef(new RateMeter())
  if (data === undefined) return <Notice error={error} />
  if (data.sources.length === 0) return <p class="quiet">No source of this job reads a topic.</p>
  return (
    <>
      {error === undefined ? null : <Notice error={error} />}
      <SourceCharts id={id} sources={data.sources.slice(0, MOST_LINES)} />
      {data.sources.map((source) => (
        <Source key={source.uid} source={source} meter={meter.current} at={data} />
      ))}
    </>
  )
}

interface SourceChartsProps {
  readonly id: string
  readonly sources: readonly SourceTopic[]
}

/** What the sources read in a second and what is left, over time. */
function SourceCharts({ id, sources }: SourceChartsProps) {
  const series = ['recordsPerSecond', 'pendingRecords'].flatMap((name) =>
    sources.map(({ uid }) => `source.${uid}.${name}`),
  )
  const samples = useHistory(id, series)
  const [read, left] = useMemo(() => {
    const [times = [], ...values] = samples
    const at = sources.length
    return [
      [times, ...values.slice(0, at)],
      [times, ...values.slice(at)],
    ] as const
  }, [samples, sources.length])
  const names = sources.map(({ topic, name }) => topic ?? name)
  return (
    <div class="columns">
      <section class="card">
        <Chart title="Records read a second" names={names} samples={read} text={numberText} />
      </section>
      <section class="card">
        <Chart title="Lag: records not read yet" names={names} samples={left} text={numberText} />
      </section>
    </div>
  )
}

interface SourceProps {
  readonly source: SourceTopic
  readonly meter: RateMeter
  /** The answer that the source is from. */
  readonly at: object
}

function Source({ source, meter, at }: SourceProps) {
  const { uid, name, topic, lag, partitions } = source
  const rows = partitions.map((one) => ({
    ...one,
    ...meter.rateOf(`${uid} ${one.partition}`, one, at),
  }))
  return (
    <section class="card" aria-labelledby={`topic-${uid}`}>
      <div class="heading">
        <h2 id={`topic-${uid}`}>{topic ?? name}</h2>
        <p class="quiet">
          read by <code>{uid}</code>
        </p>
      </div>
      <p>{lagSentence(lag)}</p>
      <Table
        caption={`Partitions of ${topic ?? name}`}
        columns={COLUMNS}
        rows={rows}
        keyOf={({ partition }) => partition}
        empty="The topic has no partition."
      />
    </section>
  )
}

function lagSentence(lag: number | null): string {
  if (lag === null) return 'How far the job is behind is not known.'
  if (lag === 0) return 'The job has applied every record.'
  return `The job is ${numberText(lag)} ${lag === 1 ? 'record' : 'records'} behind.`
}

const known = (value: number | null | undefined): string =>
  value === null || value === undefined ? '–' : value.toLocaleString('en-US')
const rate = (value: number | undefined): string =>
  value === undefined ? '–' : `${numberText(value)}/s`

const COLUMNS = [
  { name: 'Partition', isNumber: true, cell: (row: TopicPartition) => row.partition },
  { name: 'Lag', isNumber: true, cell: (row: TopicPartition) => known(row.lag) },
  { name: 'Position', isNumber: true, cell: (row: TopicPartition) => known(row.position) },
  { name: 'End', isNumber: true, cell: (row: TopicPartition) => known(row.end) },
  { name: 'Appended', isNumber: true, cell: (row: TopicPartition & Rate) => rate(row.appended) },
  { name: 'Applied', isNumber: true, cell: (row: TopicPartition & Rate) => rate(row.applied) },
  { name: 'First offset', isNumber: true, cell: (row: TopicPartition) => known(row.start) },
]
