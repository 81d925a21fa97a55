import { useId, useState } from 'preact/hooks'
import type { ModelDifference, ModelVersion } from '../data/job-data.ts'
import { useRequested } from '../data/requested.ts'
import { percentText } from '../format.ts'
import { Notice } from '../parts/notice.tsx'
import { Table } from '../parts/table.tsx'

/** Parts of the differences of two versions. */
export interface ModelDiffProps {
  readonly id: string
  /** At least two of the registry, newest first. */
  readonly versions: readonly ModelVersion[]
}

/** What two versions differ in, and how much their top lists have in common. */
export function ModelDiff({ id, versions }: ModelDiffProps) {
  const [left, setLeft] = useState(versions[1]!.number)
  const [right, setRight] = useState(versions[0]!.number)
  const { data, error } = useRequested<ModelDifference>(
    left === right ? undefined : `/weir/jobs/${id}/models/diff?a=${left}&b=${right}`,
  )
  return (
    <section class="card" aria-labelledby="diff">
      <div class="heading">
        <h2 id="diff">Differences</h2>
        <Choice label="Version" value={left} versions={versions} onChoose={setLeft} />
        <Choice label="and" value={right} versions={versions} onChoose={setRight} />
      </div>
      {left === right ? <p class="quiet">Choose two versions.</p> : null}
      {left !== right && data === undefined ? <Notice error={error} /> : null}
      {data === undefined ? null : (
        <>
          <p>{listsSentence(data.lists)}</p>
          <Table
            caption={`Differences of the versions ${left} and ${right}`}
            columns={[
              { name: 'Field', cell: ({ field }) => field },
              { name: `Version ${left}`, cell: (row) => <code>{shortText(row.left)}</code> },
              { name: `Version ${right}`, cell: (row) => <code>{shortText(row.right)}</code> },
            ]}
            rows={data.differences}
            keyOf={({ field }) => field}
            empty="The registry says the same of both."
          />
        </>
      )}
    </section>
  )
}

interface ChoiceProps {
  readonly label: string
  readonly value: number
  readonly versions: readonly ModelVersion[]
  readonly onChoose: (version: number) => void
}

function Choice({ label, value, versions, onChoose }: ChoiceProps) {
  const id = useId()
  return (
    <span>
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        onChange={({ currentTarget }) => onChoose(Number(currentTarget.value))}
      >
        {versions.map(({ number }) => (
          <option key={number} value={number}>
            {number}
          </option>
        ))}
      </select>
    </span>
  )
}

/** A number with many digits in fewer. */
function shortText(text: string): string {
  return /^-?\d+\.\d{5,}$/.test(text) ? String(Number(Number(text).toPrecision(5))) : text
}

function listsSentence(lists: ModelDifference['lists']): string {
  if (lists === null) return 'Their top lists are compared when the job has loaded both.'
  const { users, k, overlap } = lists
  const risen = itemSentence(lists.risenItem, 'risen', `${percentText(lists.rise)} more`)
  const fallen = itemSentence(lists.fallenItem, 'fallen', `${percentText(lists.fall)} fewer`)
  return `The top ${k} of ${users} sampled users have ${percentText(overlap)} in common.${risen}${fallen}`
}

function itemSentence(item: string | null | undefined, moved: string, share: string): string {
  if (item === undefined || item === null) return ''
  return ` Item ${item} has ${moved} most: it is in ${share} of the lists.`
}
