import type { Check, Lineage, ModelVersion } from '../data/job-data.ts'
import { jobHref } from '../data/route.ts'
import { numberText, timeText } from '../format.ts'
import { StateBadge } from '../parts/state-badge.tsx'
import { Table } from '../parts/table.tsx'

/** Parts of the detail of a version. */
export interface VersionDetailProps {
  readonly id: string
  readonly version: ModelVersion
}

/** What a version was made from, its checks, and what happened to it. */
export function VersionDetail({ id, version }: VersionDetailProps) {
  const { number, lineage, checks = [], notes = [] } = version
  return (
    <section class="card" aria-labelledby="version-detail">
      <div class="heading">
        <h2 id="version-detail">Version {number}</h2>
        <StateBadge state={version.state} />
        <a href={jobHref(id, 'models')}>Close</a>
      </div>
      {version.id === undefined || version.id === null ? (
        <p class="quiet">
          The registry does not have this version: only its rows are in the topic.
        </p>
      ) : null}
      <div class="columns">
        <div>
          <h3>Lineage</h3>
          <Facts facts={factsOf(version)} />
        </div>
        <div>
          <h3>History</h3>
          <ol class="notes">
            {notes.map(({ atMs, event, text }) => (
              <li key={`${atMs} ${event}`}>
                <time>{timeText(atMs)}</time> {event.replaceAll('-', ' ')}
                {text === undefined ? '' : `: ${text}`}
              </li>
            ))}
          </ol>
          {notes.length === 0 ? <p class="quiet">Nothing is recorded.</p> : null}
        </div>
      </div>
      <h3>Checks</h3>
      {checks.length === 0 ? <p class="quiet">No check has run.</p> : null}
      {checks.map((check) => (
        <Measures key={check.check} check={check} />
      ))}
      {lineage?.ranges === undefined || lineage.ranges.length === 0 ? null : (
        <Ranges ranges={lineage.ranges} />
      )}
    </section>
  )
}

interface Fact {
  readonly name: string
  readonly value: string
}

function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts.map(({ name, value }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

function factsOf({ id, processingName, createdMs = -1, lineage, errorAtStart }: ModelVersion) {
  const {
    code,
    parent,
    checkpoint,
    newestEventMs,
    hyperparameters = {},
    metrics = {},
  } = lineage ?? ({} as Lineage)
  const texts: Readonly<Record<string, string | null | undefined>> = {
    Id: id,
    Name: processingName,
    Created: createdMs < 0 ? undefined : timeText(createdMs),
    Code: code,
    Parent: parent,
    Checkpoint: checkpoint,
    'Newest observation':
      newestEventMs === undefined || newestEventMs <= 0 ? undefined : timeText(newestEventMs),
    Files: lineage?.files?.map(({ file }) => file).join(', '),
    Parameters: pairsText(hyperparameters),
    Metrics: pairsText(
      Object.fromEntries(Object.entries(metrics).map(([name, value]) => [name, numberText(value)])),
    ),
    'Error after going live':
      errorAtStart === undefined || errorAtStart === null ? undefined : numberText(errorAtStart),
  }
  return Object.entries(texts).flatMap(([name, value]) =>
    value === undefined || value === null || value === '' ? [] : [{ name, value }],
  )
}

function pairsText(values: Readonly<Record<string, unknown>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ')
}

function Measures({ check: { check, passed, against, measures } }: { readonly check: Check }) {
  return (
    <>
      <p>
        <b>{check}</b> <StateBadge state={passed ? 'PASSED' : 'FAILED'} />{' '}
        <span class="quiet">{against === 0 ? '' : `against version ${against}`}</span>
      </p>
      <Table
        caption={`Measures of the check of ${check}`}
        columns={[
          { name: 'Measure', cell: ({ name }) => name },
          { name: 'Value', isNumber: true, cell: ({ value }) => numberText(value) },
          { name: 'Bound', cell: (one) => `${one.relation} ${numberText(one.bound)}` },
          {
            name: 'Result',
            cell: (one) => <StateBadge state={one.passed ? 'PASSED' : 'FAILED'} />,
          },
        ]}
        rows={measures}
        keyOf={({ name }) => name}
        empty="The check has no measure."
      />
    </>
  )
}

function Ranges({ ranges }: { readonly ranges: NonNullable<Lineage['ranges']> }) {
  return (
    <>
      <h3>Data</h3>
      <Table
        caption="Ranges of the data"
        columns={[
          { name: 'Topic', cell: ({ topic }) => topic },
          { name: 'Partition', isNumber: true, cell: ({ partition }) => partition },
          { name: 'From', isNumber: true, cell: ({ from }) => from.toLocaleString('en-US') },
          { name: 'To', isNumber: true, cell: ({ to }) => to.toLocaleString('en-US') },
        ]}
        rows={ranges}
        keyOf={({ topic, partition }) => `${topic} ${partition}`}
        empty="No range is recorded."
      />
    </>
  )
}
