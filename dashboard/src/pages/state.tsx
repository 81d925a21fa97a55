import { useState } from 'preact/hooks'
import { murmur3 } from '../../../src/core/hash/murmur3.ts'
import type { JobDetail } from '../data/answers.ts'
import type { Envelope, StateEntry, StateInfo, StateRows, States } from '../data/job-data.ts'
import { useRequested } from '../data/requested.ts'
import { jobHref } from '../data/route.ts'
import { durationText, numberText } from '../format.ts'
import { Figures } from '../parts/figures.tsx'
import { Notice } from '../parts/notice.tsx'
import { StateValue, shortValue } from '../parts/state-value.tsx'
import { Table } from '../parts/table.tsx'

/** Parts of the page of state. */
export interface StatePageProps {
  readonly job: JobDetail
  /** Key that is shown. */
  readonly chosen: string | undefined
}

/** Rows of a page of keys. */
const PAGE = 50

/** Queryable state of a job: the row of a key, and all keys page by page. */
export function StatePage({ job, chosen }: StatePageProps) {
  const { data, error } = useRequested<States>(`/weir/jobs/${job.jid}/states`)
  const [picked, setPicked] = useState<string>()
  const [version, setVersion] = useState('')
  if (data === undefined) return <Notice error={error} />
  const state = data.states.find(({ name }) => name === picked) ?? data.states[0]
  if (state === undefined) return <p class="quiet">This job has no queryable state.</p>
  return (
    <>
      <section class="card fields" aria-label="What is read">
        <p>
          <label for="state">State</label>
          <select
            id="state"
            value={state.name}
            onChange={({ currentTarget }) => setPicked(currentTarget.value)}
          >
            {data.states.map(({ name, kind }) => (
              <option key={name} value={name}>
                {name} ({kind})
              </option>
            ))}
          </select>
        </p>
        {state.versions.length === 0 ? null : (
          <p>
            <label for="version">Version</label>
            <select
              id="version"
              value={version}
              onChange={({ currentTarget }) => setVersion(currentTarget.value)}
            >
              <option value="">
                live ({state.liveVersion === 0 ? 'none' : state.liveVersion})
              </option>
              {state.versions.map((number) => (
                <option key={number} value={number}>
                  {number}
                </option>
              ))}
            </select>
          </p>
        )}
        <KeyForm job={job.jid} chosen={chosen} example={state} />
      </section>
      {chosen === undefined ? null : (
        <Entry job={job} state={state} version={version} stateKey={chosen} />
      )}
      <Rows key={`${state.name} ${version}`} job={job.jid} state={state} version={version} />
    </>
  )
}

interface KeyFormProps {
  readonly job: string
  readonly chosen: string | undefined
  readonly example: StateInfo
}

function KeyForm({ job, chosen, example }: KeyFormProps) {
  const show = (event: SubmitEvent): void => {
    event.preventDefault()
    const key = String(new FormData(event.currentTarget as HTMLFormElement).get('key') ?? '')
    if (key !== '') location.hash = jobHref(job, 'state', key)
  }
  return (
    <form onSubmit={show}>
      <label for="key">Key</label>
      <input
        id="key"
        name="key"
        key={chosen}
        defaultValue={chosen ?? ''}
        autocomplete="off"
        spellcheck={false}
        placeholder={example.name === 'ALS_MODEL' ? '1-U or 1-I' : ''}
      />
      <button type="submit">Show</button>
    </form>
  )
}

interface EntryProps {
  readonly job: JobDetail
  readonly state: StateInfo
  readonly version: string
  readonly stateKey: string
}

/** Time between two readings of the row that is shown, ms. */
const EVERY_MS = 2000
type Consistency = 'live' | 'checkpoint'

function Entry({ job, state, version, stateKey }: EntryProps) {
  const [consistency, setConsistency] = useState<Consistency>('live')
  const query = new URLSearchParams({ key: stateKey, consistency })
  if (version !== '' && state.versions.length > 0) query.set('version', version)
  const path = `/weir/jobs/${job.jid}/states/${encodeURIComponent(state.name)}/entry?${query}`
  const { data, error } = useRequested<StateEntry>(path, EVERY_MS)
  return (
    <section class="card" aria-labelledby="entry">
      <div class="heading">
        <h2 id="entry">
          Key <code>{stateKey}</code>
        </h2>
        <p>
          <label for="consistency">Read</label>
          <select
            id="consistency"
            value={consistency}
            onChange={({ currentTarget }) => setConsistency(currentTarget.value as Consistency)}
          >
            <option value="live">now</option>
            <option value="checkpoint">as of the last checkpoint</option>
          </select>
        </p>
        <a href={jobHref(job.jid, 'state')}>Close</a>
      </div>
      {error === undefined ? null : <Notice error={error} />}
      {data === undefined ? (
        error === undefined && <Notice error={undefined} />
      ) : (
        <>
          <Figures figures={figuresOf(data, job)} />
          <StateValue value={data.value} />
        </>
      )}
    </section>
  )
}

function figuresOf({ key, envelope, slot }: StateEntry, { vertices }: JobDetail) {
  const { modelVersion, checkpointId, ageMs } = envelope
  const groups = vertices[0]?.maxParallelism
  const hash = murmur3(new TextEncoder().encode(key))
  return [
    { name: 'Version', value: modelVersion === 0 ? 'none' : modelVersion },
    { name: 'Written by', value: positionText(envelope), note: 'partition : offset' },
    { name: 'Age at most', value: ageMs < 0 ? 'unknown' : durationText(ageMs) },
    {
      name: 'Owner',
      value: slot === null ? '–' : `slot ${slot}`,
      note: groups === undefined ? undefined : `key group ${hash % groups} of ${groups}`,
    },
    { name: 'Last checkpoint', value: checkpointId === 0 ? 'none' : checkpointId },
  ]
}

function positionText({ source = 0, partition, offset }: Envelope): string {
  if (partition < 0) return 'no record'
  return `${source === 0 ? '' : `source ${source}, `}${partition} : ${offset.toLocaleString('en-US')}`
}

interface RowsProps {
  readonly job: string
  readonly state: StateInfo
  readonly version: string
}

function Rows({ job, state, version }: RowsProps) {
  // Where each page that was shown begins.
  const [starts, setStarts] = useState<readonly string[]>([''])
  const query = new URLSearchParams({ after: starts.at(-1)!, limit: String(PAGE) })
  if (version !== '' && state.versions.length > 0) query.set('version', version)
  const path = `/weir/jobs/${job}/states/${encodeURIComponent(state.name)}/rows?${query}`
  const { data, error, isComing } = useRequested<StateRows>(path)
  const first = (starts.length - 1) * PAGE
  return (
    <section class="card" aria-labelledby="rows">
      <div class="heading">
        <h2 id="rows">Keys of {state.name}</h2>
        <div class="actions">
          <button
            type="button"
            disabled={starts.length === 1 || isComing}
            onClick={() => setStarts(starts.slice(0, -1))}
          >
            Previous
          </button>
          <button
            type="button"
            disabled={data?.next === null || data === undefined || isComing}
            onClick={() => setStarts([...starts, data!.next!])}
          >
            Next
          </button>
        </div>
      </div>
      {data === undefined ? (
        <Notice error={error} />
      ) : (
        <>
          <p class="quiet">
            {data.rows.length === 0
              ? ''
              : `Keys ${numberText(first + 1)} to ${numberText(first + data.rows.length)}, in the order of their bytes.`}
          </p>
          <Table
            caption={`Keys of ${state.name}`}
            columns={[
              {
                name: 'Key',
                cell: ({ key }) => (
                  <a href={jobHref(job, 'state', key)}>
                    <code>{key}</code>
                  </a>
                ),
              },
              { name: 'Value', cell: ({ value }) => <code>{shortValue(value)}</code> },
            ]}
            rows={data.rows}
            keyOf={({ key }) => key}
            empty="The state has no key."
          />
        </>
      )}
    </section>
  )
}
