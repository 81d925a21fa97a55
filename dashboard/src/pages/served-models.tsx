import type { ServedModel, ServedModels } from '../data/job-data.ts'
import { useRequested } from '../data/requested.ts'
import { bytesText, durationText, numberText } from '../format.ts'
import { servedCounts } from '../models/served-counts.ts'
import { Notice } from '../parts/notice.tsx'
import { StateBadge } from '../parts/state-badge.tsx'
import { type Column, Table } from '../parts/table.tsx'

/** Time between two requests, ms. */
const EVERY_MS = 1000

/** The models of any kind that a job asks: how they are served, and their counters. */
export function ServedModelsPage({ id }: { readonly id: string }) {
  const { data, error } = useRequested<ServedModels>(`/weir/jobs/${id}/served-models`, EVERY_MS)
  if (data === undefined) return <Notice error={error} />
  return (
    <>
      {error === undefined ? null : <Notice error={error} />}
      <ModelTable
        title="Served models"
        columns={SERVING}
        models={data.models}
        note="Each number is of the live version, since it was loaded."
      />
      <ModelTable title="Versions, memory and cache" columns={PLACE} models={data.models} />
    </>
  )
}

interface ModelTableProps {
  readonly title: string
  readonly columns: readonly Column<ServedModel>[]
  readonly models: readonly ServedModel[]
  readonly note?: string
}

function ModelTable({ title, columns, models, note }: ModelTableProps) {
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      {note === undefined ? null : <p class="quiet">{note}</p>}
      <Table
        caption={title}
        columns={[NAME, ...columns]}
        rows={models}
        keyOf={({ name }) => name}
        empty="This job asks no model."
      />
    </section>
  )
}

const NAME: Column<ServedModel> = { name: 'Model', cell: ({ name }) => <code>{name}</code> }

const count = (name: string, of: string): Column<ServedModel> => ({
  name,
  isNumber: true,
  cell: ({ statistics }) => numberText(statistics[of] ?? 0),
})

const SERVING: readonly Column<ServedModel>[] = [
  { name: 'State', cell: stateOf },
  {
    name: 'Version',
    isNumber: true,
    cell: ({ liveVersion }) => (liveVersion === 0 ? 'none' : liveVersion),
  },
  { name: 'Kind', cell: ({ kind }) => kind },
  {
    name: 'Rule',
    cell: ({ settings }) =>
      settings === null ? '–' : `${settings.rule}, ≤ ${settings.maxBatchItems} items`,
  },
  {
    name: 'Goal',
    isNumber: true,
    cell: ({ settings }) => durationText(settings?.sloMs ?? -1),
  },
  {
    name: 'p99',
    isNumber: true,
    cell: ({ statistics: { p99Ms = 0 } }) => (p99Ms === 0 ? '–' : `${numberText(p99Ms)} ms`),
  },
  count('Waiting', 'waiting'),
  {
    name: 'Requests',
    isNumber: true,
    cell: ({ statistics }) => numberText(servedCounts(statistics).requests),
  },
  {
    name: 'Answers',
    isNumber: true,
    cell: ({ statistics }) => numberText(servedCounts(statistics).answers),
  },
  { name: 'Within goal', isNumber: true, cell: withinGoalText },
  count('Late', 'expired'),
  {
    name: 'Refused',
    isNumber: true,
    cell: ({ statistics }) => numberText(servedCounts(statistics).refused),
  },
  count('Failed', 'failed'),
]

const PLACE: readonly Column<ServedModel>[] = [
  {
    name: 'Versions',
    cell: ({ versions }) =>
      versions.map(({ version, state }) => `${version} ${state.toLowerCase()}`).join(', ') ||
      'none',
  },
  { name: 'Workers', isNumber: true, cell: workersText },
  count('Lost workers', 'workersLost'),
  { name: 'Memory', isNumber: true, cell: memoryText },
  count('Evictions', 'evictions'),
  count('Loads after one', 'loads'),
  {
    name: 'Cache',
    isNumber: true,
    cell: ({ settings, statistics: { cacheBytes = 0 } }) =>
      (settings?.cacheBytes ?? 0) === 0
        ? 'none'
        : `${bytesText(cacheBytes)} of ${bytesText(settings!.cacheBytes)}`,
  },
  count('Cache hits', 'cacheHits'),
]

function stateOf({ state, reason, problems }: ServedModel) {
  const sentences = [...new Set([reason, ...problems])].filter((sentence) => sentence !== '')
  return (
    <>
      <StateBadge state={state} />{' '}
      {sentences.map((sentence) => (
        <span class="wraps" key={sentence}>
          {sentence}
        </span>
      ))}
    </>
  )
}

/** Share of the requests that were answered within the goal, not rounded up; there is none before the first request. */
function withinGoalText({ statistics: { sloAttainment } }: ServedModel): string {
  return sloAttainment === undefined ? '–' : `${Math.floor(sloAttainment * 1000) / 10} %`
}

function workersText({ statistics }: ServedModel): string {
  const { workers = 0, workersWanted = workers, workersBusy = 0 } = statistics
  return `${workers} of ${workersWanted}, ${workersBusy} busy`
}

/** The memory is known where the process has a limit of memory. */
function memoryText({ statistics: { memoryBytes = 0, resident = 0 } }: ServedModel): string {
  if (memoryBytes === 0) return 'no limit'
  return resident === 1 ? bytesText(memoryBytes) : `${bytesText(memoryBytes)}, evicted`
}
