import type { KeyGroups } from '../data/answers.ts'
import { useRequested } from '../data/requested.ts'
import { numberText, percentText } from '../format.ts'
import { Table } from '../parts/table.tsx'

const HEIGHT = 60
/** Time between two requests, ms. */
const EVERY_MS = 5000

/** How the records of a keyed operator are spread over its key groups; nothing for other operators. */
export function KeyGroupSkew({ path }: { readonly path: string }) {
  const { data } = useRequested<KeyGroups>(`/weir${path}/key-groups`, EVERY_MS)
  if (data === undefined || !data.isKeyed || data.hottest === null) return null
  const { hottest, records, subtasks, maxParallelism } = data
  const fair = 1 / maxParallelism
  return (
    <section aria-labelledby="skew">
      <h3 id="skew">Skew over key groups</h3>
      <p>
        Key group {hottest.keyGroup} has {shareText(hottest.share)} of the records,{' '}
        {numberText(hottest.share / fair)} times its share of an even spread. Skew: subtasks{' '}
        {percentText(data.subtaskSkew / 100)}, key groups {percentText(data.keyGroupSkew / 100)}.
      </p>
      <Bars groups={data} />
      <Table
        caption="Records by subtask"
        columns={[
          { name: 'Subtask', isNumber: true, cell: ({ subtask }) => subtask },
          { name: 'Key groups', cell: ({ first, last }) => `${first} to ${last}` },
          { name: 'Records, estimated', isNumber: true, cell: (one) => numberText(one.records) },
          { name: 'Share', isNumber: true, cell: (one) => shareText(one.records / records) },
        ]}
        rows={subtasks}
        keyOf={({ subtask }) => subtask}
        empty="The operator has no subtask."
      />
    </section>
  )
}

/** A bar for each key group, or for several where there are many. */
function Bars({ groups: { bars, groupsPerBar, maxParallelism } }: { readonly groups: KeyGroups }) {
  const most = Math.max(1, ...bars)
  return (
    <figure class="skew-bars">
      <svg viewBox={`0 0 ${bars.length} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {bars.map((records, bar) => {
          const height = (records / most) * HEIGHT
          return <rect key={bar} x={bar + 0.1} y={HEIGHT - height} width={0.8} height={height} />
        })}
      </svg>
      <figcaption class="quiet">
        Records of the key groups 0 to {maxParallelism - 1}
        {groupsPerBar === 1 ? '' : `, ${groupsPerBar} in a bar`}, since the attempt began
      </figcaption>
    </figure>
  )
}

/** A share with a digit after the point where it is small. */
function shareText(share: number): string {
  return share < 0.1 ? `${(share * 100).toFixed(1)} %` : percentText(share)
}
