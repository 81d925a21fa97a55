import type { JobConfig } from '../data/answers.ts'
import { useWatched } from '../data/watched.ts'
import { Notice } from '../parts/notice.tsx'
import { Table } from '../parts/table.tsx'

/** Configuration of a job. */
export function ConfigurationPage({ id }: { readonly id: string }) {
  const { data, error } = useWatched<JobConfig>(`/jobs/${id}/config`)
  if (data === undefined) return <Notice error={error} />
  const { 'job-parallelism': slots, 'user-config': keys } = data['execution-config']
  return (
    <section class="card" aria-labelledby="configuration">
      <h2 id="configuration">Configuration</h2>
      <p class="quiet">
        The job runs in {slots} {slots === 1 ? 'slot' : 'slots'}. Keys that are not listed have
        their defaults.
      </p>
      <Table
        caption="Configuration"
        columns={[
          { name: 'Key', cell: ([key]) => <code>{key}</code> },
          { name: 'Value', cell: ([, value]) => <code>{value}</code> },
        ]}
        rows={Object.entries(keys)}
        keyOf={([key]) => key}
        empty="The job sets no key."
      />
    </section>
  )
}
