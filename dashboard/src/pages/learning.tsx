import { useMemo } from 'preact/hooks'
import type { Learning } from '../data/answers.ts'
import type { Samples } from '../data/append-samples.ts'
import { useHistory } from '../data/samples.ts'
import { useWatched } from '../data/watched.ts'
import { durationText, numberText, percentText } from '../format.ts'
import { Chart } from '../parts/chart.tsx'
import { type Figure, Figures } from '../parts/figures.tsx'
import { Notice } from '../parts/notice.tsx'
import { Table } from '../parts/table.tsx'

/** Parts of the page of learning. */
export interface LearningPageProps {
  readonly id: string
  /** The version that queries read; undefined until it is known. */
  readonly live: number | undefined
}

/** Errors of a job that learns online, each measured before the rating or example was learned. */
export function LearningPage({ id, live }: LearningPageProps) {
  const { data, error } = useWatched<Learning>(`/weir/jobs/${id}/learning`)
  if (data === undefined) return <Notice error={error} />
  if (data.kind === null) return <p class="quiet">This job does not learn.</p>
  return (
    <>
      <Figures figures={figuresOf(data, live)} />
      {data.kind === 'ratings' ? <RatingsCharts id={id} /> : <ExamplesChart id={id} />}
      <Learners learning={data} />
    </>
  )
}

/** Series of a learning job that are squared errors, with the names of their roots. */
const ERRORS = {
  'learning.prequentialFadedMse': 'learning, latest ratings',
  'learning.prequentialFrozenMse': 'without learning',
  'learning.prequentialMse': 'learning, since the version went live',
}
const RATINGS = [
  ...Object.keys(ERRORS),
  'learning.driftAlarms',
  'learning.visibleMedianMs',
  'learning.visibleMaxMs',
  'learning.prequentialCoverage',
]

function RatingsCharts({ id }: { readonly id: string }) {
  const samples = useHistory(id, RATINGS)
  const [errors, latencies, cold, marks] = useMemo(() => {
    const [times = [], faded = [], frozen = [], mean = [], alarms = [], ...rest] = samples
    const [median = [], longest = [], coverage = []] = rest
    const all: Samples[] = [
      [times, ...[faded, frozen, mean].map((column) => column.map(root))],
      [times, median, longest],
      [times, coverage.map((known) => (known === null ? null : 1 - known))],
    ]
    return [...all, increases(times, alarms)] as const
  }, [samples])
  return (
    <>
      <section class="card">
        <Chart
          title="RMSE of predictions, each made before its rating was learned"
          names={Object.values(ERRORS)}
          samples={errors as Samples}
          text={errorText}
          marks={marks as readonly number[]}
          markName="drift alarm"
        />
      </section>
      <div class="columns">
        <section class="card">
          <Chart
            title="From a rating to the change that queries see"
            names={['median', 'longest']}
            samples={latencies as Samples}
            text={durationText}
          />
        </section>
        <section class="card">
          <Chart
            title="Cold share: ratings of a user or an item without a row"
            names={['cold']}
            samples={cold as Samples}
            text={percentText}
          />
        </section>
      </div>
    </>
  )
}

/** Series of a job that learns examples, with their names. */
const EXAMPLES = {
  'learning.prequentialFadedLoss': 'loss, latest examples',
  'learning.prequentialFrozenLoss': 'loss without learning',
  'learning.prequentialLoss': 'loss, since the version went live',
  'learning.prequentialFadedAccuracy': 'accuracy, latest examples',
  'learning.prequentialAuc': 'AUC, latest examples',
}
const EXAMPLES_WITH_ALARMS = [...Object.keys(EXAMPLES), 'learning.driftAlarms']

function ExamplesChart({ id }: { readonly id: string }) {
  const samples = useHistory(id, EXAMPLES_WITH_ALARMS)
  const [figures, marks] = useMemo(() => {
    const shown = samples.slice(0, -1) as Samples
    return [shown, increases(samples[0] ?? [], samples.at(-1) ?? [])] as const
  }, [samples])
  return (
    <section class="card">
      <Chart
        title="Predictions, each made before its example was learned"
        names={Object.values(EXAMPLES)}
        samples={figures}
        text={errorText}
        marks={marks}
        markName="drift alarm"
      />
    </section>
  )
}

function Learners({ learning: { kind, subtasks } }: { readonly learning: Learning }) {
  const isOfRatings = kind === 'ratings'
  return (
    <section class="card" aria-labelledby="learners">
      <h2 id="learners">Learners</h2>
      <Table
        caption="Learners"
        columns={[
          { name: 'Subtask', cell: ({ name }) => <code>{name}</code> },
          { name: 'Version', isNumber: true, cell: ({ version }) => version ?? '–' },
          { name: 'Learned', isNumber: true, cell: ({ learned }) => numberText(learned) },
          {
            name: isOfRatings ? 'RMSE, latest ratings' : 'Loss, latest examples',
            isNumber: true,
            cell: ({ error }) => {
              const shown = isOfRatings ? root(error) : error
              return shown === null ? '–' : errorText(shown)
            },
          },
        ]}
        rows={subtasks}
        keyOf={({ name }) => name}
        empty="No subtask learns."
      />
    </section>
  )
}

/** Times at which a counter was above the value before. */
function increases(
  times: readonly (number | null)[],
  values: readonly (number | null)[],
): readonly number[] {
  let last: number | null = null
  return values.flatMap((value, i) => {
    if (value === null) return []
    const isMore = last !== null && value > last
    last = value
    return isMore ? [times[i]!] : []
  })
}

function root(mse: number | null | undefined): number | null {
  return mse === null || mse === undefined ? null : Math.sqrt(mse)
}

/** Whether another version is live than the one that was learned on last, as after a promotion or a rollback. */
function isBehind(version: number | null, live: number | undefined): boolean {
  return version !== null && version !== 0 && live !== undefined && version !== live
}

const errorText = (value: number): string => value.toFixed(4)

/** What was learned made the predictions worse. */
const STOPPED: Figure = {
  name: 'Learning',
  value: 'stopped',
  note: 'it made the predictions worse; "weir learn resume" lets the job learn again',
}

function figuresOf(learning: Learning, live: number | undefined): readonly Figure[] {
  const { kind, version, learned, refused, driftAlarms, freshnessMs, means } = learning
  const coverage = means['prequentialCoverage']
  const common = [
    ...(learning.isStopped ? [STOPPED] : []),
    { name: 'Live version', value: live ?? '–' },
    {
      name: 'Learned last on version',
      value: version === null || version === 0 ? '–' : version,
      note: isBehind(version, live) ? `what comes next is learned on version ${live}` : undefined,
    },
    {
      name: kind === 'ratings' ? 'Ratings learned' : 'Examples learned',
      value: numberText(learned),
    },
    { name: 'Refused', value: numberText(refused) },
  ]
  const alarms = { name: 'Drift alarms', value: driftAlarms ?? '–' }
  if (kind === 'examples') return [...common, alarms]
  return [
    ...common,
    alarms,
    {
      name: 'Cold share',
      value: typeof coverage === 'number' ? percentText(1 - coverage) : '–',
      note: 'user or item without a row',
    },
    {
      name: 'Update to visible',
      value: durationText(learning.visibleMedianMs ?? -1),
      note:
        learning.visibleMaxMs === null
          ? undefined
          : `longest: ${durationText(learning.visibleMaxMs)}`,
    },
    { name: 'Age of the newest rating', value: durationText(freshnessMs ?? -1) },
  ]
}
