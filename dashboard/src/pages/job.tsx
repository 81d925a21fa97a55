import { useLayoutEffect, useRef } from 'preact/hooks'
import type { JobDetail, JobLive } from '../data/answers.ts'
import type { ServedModels, StateInfo, States } from '../data/job-data.ts'
import { useRequested } from '../data/requested.ts'
import { jobHref, type Route, TABS, type Tab } from '../data/route.ts'
import { useTitle } from '../data/title.ts'
import { useWatched } from '../data/watched.ts'
import { durationText } from '../format.ts'
import { JobActions } from '../parts/job-actions.tsx'
import { FailureLine } from '../parts/last-failure.tsx'
import { Notice } from '../parts/notice.tsx'
import { StateBadge } from '../parts/state-badge.tsx'
import { CheckpointsPage } from './checkpoints.tsx'
import { ConfigurationPage } from './configuration.tsx'
import { ExceptionsPage } from './exceptions.tsx'
import { GraphPage } from './graph.tsx'
import { LearningPage } from './learning.tsx'
import { LogPage } from './log.tsx'
import { ModelsPage } from './models.tsx'
import { RecommendationsPage } from './recommendations.tsx'
import { ServedModelsPage } from './served-models.tsx'
import { StatePage } from './state.tsx'
import { TopicsPage } from './topics.tsx'

/** State of the rows of an ALS model. */
const ALS_MODEL = 'ALS_MODEL'
/** Time between two requests for what a job serves, ms. */
const SERVED_MS = 5000

/** A job: its state, and one of its tabs. */
export interface JobPageProps {
  readonly route: Extract<Route, { page: 'job' }>
}

const TITLES: Readonly<Record<Tab, string>> = {
  graph: 'Graph',
  checkpoints: 'Checkpoints',
  exceptions: 'Exceptions',
  learning: 'Learning',
  models: 'Models',
  'served-models': 'Served models',
  recommendations: 'Recommendations',
  state: 'State',
  topics: 'Topics',
  configuration: 'Configuration',
  log: 'Log',
}

/** The page of one job. */
export function JobPage({ route }: JobPageProps) {
  const { job: id, tab } = route
  const detail = useWatched<JobDetail>(`/jobs/${id}`)
  const live = useWatched<JobLive>(`/weir/jobs/${id}/live`)
  const isRunning = detail.data?.state === 'RUNNING'
  const states = useRequested<States>(isRunning ? `/weir/jobs/${id}/states` : undefined, SERVED_MS)
    .data?.states
  const asked = useRequested<ServedModels>(
    isRunning ? `/weir/jobs/${id}/served-models` : undefined,
    SERVED_MS,
  ).data?.models
  const job = detail.data
  useTitle(`${job?.name ?? id}: ${TITLES[tab]}`)
  if (job === undefined || live.data === undefined) {
    return <Notice error={detail.error ?? live.error} />
  }
  const { data } = live
  // A process that serves models has no operators.
  const shown = tab === 'graph' && data.vertices.length === 0 ? 'served-models' : tab
  return (
    <>
      <div class="heading">
        <h1>{job.name}</h1>
        <StateBadge state={job.state} />
        <p class="quiet">
          <code>{id}</code> {job['end-time'] < 0 ? 'up for' : 'ran for'}{' '}
          {durationText(job.duration)}
          {data.vertices.length === 0 ? '' : `, parallelism ${data.parallelism}`}
          {data.restarts === 0 ? '' : `, restarts: ${data.restarts}`}
        </p>
        <JobActions job={job} live={data} />
      </div>
      {data.lastFailure === null ? null : (
        <p class="quiet">
          Last failure: <FailureLine job={id} failure={data.lastFailure} />
        </p>
      )}
      <Waiting sentences={job.waiting} />
      <Tabs id={id} tab={shown} live={data} states={states} asksModels={(asked?.length ?? 0) > 0} />
      <TabPage route={{ ...route, tab: shown }} job={job} live={data} states={states} />
    </>
  )
}

/** For what a job waits; nothing for one that does not. */
function Waiting({ sentences = [] }: { readonly sentences: JobDetail['waiting'] }) {
  return sentences.map((sentence) => (
    <p class="notice" role="status" key={sentence.replace(/for \d+ s/, '')}>
      {sentence}
    </p>
  ))
}

interface TabsProps {
  readonly id: string
  readonly tab: Tab
  readonly live: JobLive
  /** Undefined until they are known. */
  readonly states: readonly StateInfo[] | undefined
  readonly asksModels: boolean
}

function Tabs({ id, tab, ...job }: TabsProps) {
  const { live } = job
  const bar = useRef<HTMLElement>(null)
  const shown = TABS.filter((name) => name === tab || hasTab(name, job))
  // On a narrow screen the bar scrolls sideways.
  useLayoutEffect(() => {
    const shown = bar.current?.querySelector('[aria-current]')
    shown?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [tab, shown.length])
  return (
    <nav class="tabs" aria-label="Tabs of the job" ref={bar}>
      {shown.map((name) => (
        <a key={name} href={jobHref(id, name)} aria-current={name === tab ? 'page' : undefined}>
          {TITLES[name]}
          {name === 'exceptions' && live.failures > 0 ? ` (${live.failures})` : ''}
        </a>
      ))}
    </nav>
  )
}

/** The version that queries read; undefined where no model is live. */
function liveVersionOf(states: readonly StateInfo[] = []): number | undefined {
  return states.find(({ liveVersion }) => liveVersion > 0)?.liveVersion
}

/** Whether a job has what a tab shows. */
function hasTab(
  tab: Tab,
  { live, states = [], asksModels }: Omit<TabsProps, 'id' | 'tab'>,
): boolean {
  switch (tab) {
    case 'graph':
      return live.vertices.length > 0
    case 'checkpoints':
      return live.takesCheckpoints
    case 'learning':
      return live.learns
    case 'models':
      return states.some(({ kind }) => kind === 'vector')
    case 'served-models':
      return asksModels
    case 'recommendations':
      return states.some(({ name }) => name === ALS_MODEL)
    case 'state':
      return states.length > 0
    default:
      return true
  }
}

interface TabPageProps extends JobPageProps {
  readonly job: JobDetail
  readonly live: JobLive
  /** Undefined until they are known. */
  readonly states: readonly StateInfo[] | undefined
}

function TabPage({ route: { job: id, tab, chosen }, job, live, states }: TabPageProps) {
  switch (tab) {
    case 'graph':
      return <GraphPage job={job} live={live} chosen={chosen} />
    case 'checkpoints':
      if (!live.takesCheckpoints) return <p class="quiet">This job takes no checkpoints.</p>
      return <CheckpointsPage job={job} chosen={chosen} />
    case 'exceptions':
      return <ExceptionsPage id={id} live={live} />
    case 'learning':
      return <LearningPage id={id} live={liveVersionOf(states)} />
    case 'models':
      return <ModelsPage id={id} chosen={chosen} />
    case 'served-models':
      return <ServedModelsPage id={id} />
    case 'recommendations':
      return <RecommendationsPage id={id} user={chosen} />
    case 'state':
      return <StatePage job={job} chosen={chosen} />
    case 'topics':
      return <TopicsPage id={id} />
    case 'configuration':
      return <ConfigurationPage id={id} />
    case 'log':
      return <LogPage id={id} />
  }
}
