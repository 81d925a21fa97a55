import type { JobsOverview } from './answers.ts'
import type { StateEntry } from './job-data.ts'
import { useRequested } from './requested.ts'

/** The items that a user rated, as a running job of histories has them. */
export interface KnownItems {
  /** Whether such a job runs beside the others. */
  readonly hasJob: boolean
  /** None while they are awaited, and for a user without ratings. */
  readonly items: readonly string[]
}

/** Name of the job that `weir run histories` runs. */
const HISTORIES = 'histories'

/** The items of a user, of the first running job of histories. */
export function useKnownItems(user: string | undefined): KnownItems {
  const jobs = useRequested<JobsOverview>('/jobs/overview').data?.jobs ?? []
  const job = jobs.find(({ name, state }) => name === HISTORIES && state === 'RUNNING')
  const query = new URLSearchParams({ key: user ?? '' })
  const path =
    job === undefined || user === undefined
      ? undefined
      : `/weir/jobs/${job.jid}/states/KNOWN_ITEMS/entry?${query}`
  const { data } = useRequested<StateEntry>(path)
  const ratings = (data?.value ?? []) as readonly (readonly [item: string, rating: number])[]
  return { hasJob: job !== undefined, items: ratings.map(([item]) => item) }
}
