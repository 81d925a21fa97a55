import { useState } from 'preact/hooks'
import type { Models, ModelVersion } from '../data/job-data.ts'
import { useRequested } from '../data/requested.ts'
import { jobHref } from '../data/route.ts'
import { numberText, timeText } from '../format.ts'
import { ModelActions } from '../models/actions.tsx'
import { ModelDiff } from '../models/diff.tsx'
import { VersionDetail } from '../models/version-detail.tsx'
import { Figures } from '../parts/figures.tsx'
import { Notice } from '../parts/notice.tsx'
import { StateBadge } from '../parts/state-badge.tsx'
import { type Column, Table } from '../parts/table.tsx'

/** Parts of the page of models. */
export interface ModelsPageProps {
  readonly id: string
  /** Number of the version whose detail is shown. */
  readonly chosen: string | undefined
}

/** Time between two requests, ms. */
const EVERY_MS = 3000

/** Versions of the model of a job: lineage, checks, promotion and rollback, differences. */
export function ModelsPage({ id, chosen }: ModelsPageProps) {
  const { data, error, again } = useRequested<Models>(`/weir/jobs/${id}/models`, EVERY_MS)
  const [message, setMessage] = useState('')
  if (data === undefined) return <Notice error={error} />
  const shown = data.versions.find(({ number }) => String(number) === chosen)
  const registered = data.versions.filter(({ id }) => typeof id === 'string')
  const switched = (text: string): void => {
    setMessage(text)
    again()
  }
  return (
    <>
      <Figures figures={figuresOf(data)} />
      {error === undefined ? null : <Notice error={error} />}
      <section class="card" aria-labelledby="versions">
        <div class="heading">
          <h2 id="versions">Versions of {data.model}</h2>
          <ModelActions id={id} models={data} shown={shown} onSwitch={switched} />
        </div>
        <p class="message" role="status">
          {message}
        </p>
        <Table
          caption="Versions, newest first"
          columns={columnsOf(id)}
          rows={data.versions}
          keyOf={({ number }) => number}
          empty="The model has no version yet: train and publish one."
        />
      </section>
      {shown === undefined ? null : <VersionDetail id={id} version={shown} />}
      {registered.length < 2 ? null : <ModelDiff id={id} versions={registered} />}
    </>
  )
}

function figuresOf({ live, serving, rollback, versions }: Models) {
  const none = (version: number): number | string => (version === 0 ? 'none' : version)
  return [
    { name: 'Live in the registry', value: none(live) },
    {
      name: 'Read by queries',
      value: none(serving),
      note: serving === live ? undefined : 'not the live version yet',
    },
    { name: 'Rollback goes to', value: none(rollback) },
    { name: 'Versions', value: versions.length },
  ]
}

function columnsOf(id: string): readonly Column<ModelVersion>[] {
  return [
    {
      name: 'Version',
      cell: ({ number }) => <a href={jobHref(id, 'models', String(number))}>version {number}</a>,
    },
    {
      name: 'State',
      cell: ({ state, isServing }) => (
        <>
          <StateBadge state={state} /> {isServing ? <StateBadge state="serving" /> : null}
        </>
      ),
    },
    { name: 'Loaded', cell: ({ isLoaded }) => (isLoaded ? 'yes' : 'no') },
    { name: 'Created', cell: ({ createdMs = -1 }) => timeText(createdMs) },
    { name: 'Users', isNumber: true, cell: ({ users }) => countText(users) },
    { name: 'Items', isNumber: true, cell: ({ items }) => countText(items) },
    { name: 'Factors', isNumber: true, cell: ({ dimension }) => countText(dimension) },
    { name: 'Checks', cell: checksText },
    {
      name: 'RMSE',
      isNumber: true,
      cell: (version) => rmseOf(version)?.toFixed(4) ?? '–',
    },
  ]
}

/** RMSE on the golden ratings of the last check, or of the training on its held-out ratings. */
function rmseOf({ checks = [], lineage }: ModelVersion): number | undefined {
  const measures = checks.flatMap((check) => check.measures)
  return measures.find(({ name }) => name.startsWith('RMSE'))?.value ?? lineage?.metrics?.['rmse']
}

const countText = (count: number | undefined): string =>
  count === undefined ? '–' : numberText(count)

function checksText({ checks = [] }: ModelVersion): string {
  if (checks.length === 0) return 'not run'
  const failed = checks.filter(({ passed }) => !passed).map(({ check }) => check)
  return failed.length === 0 ? `${checks.length} passed` : `failed: ${failed.join(', ')}`
}
