import { signal } from '@preact/signals'

/** Tabs of a job, in drawing order. */
export const TABS = [
  'graph',
  'checkpoints',
  'exceptions',
  'learning',
  'models',
  'served-models',
  'recommendations',
  'state',
  'topics',
  'configuration',
  'log',
] as const

/** A tab of a job. */
export type Tab = (typeof TABS)[number]

/** What the address shows: the overview, or a tab of a job with something chosen on it. */
export type Route =
  | { readonly page: 'overview' }
  | {
      readonly page: 'job'
      readonly job: string
      readonly tab: Tab
      /** Id of a vertex or of a checkpoint, a version, a user, or a key. */
      readonly chosen: string | undefined
    }

/** The route of an address such as `#/jobs/ID/checkpoints/7`; the overview for any other. */
export function routeOf(hash: string): Route {
  const [, jobs, job, tab, chosen] = hash.replace(/^#/, '').split('/')
  if (jobs !== 'jobs' || job === undefined || !/^[0-9a-f]{32}$/i.test(job)) {
    return { page: 'overview' }
  }
  const known = TABS.find((name) => name === tab) ?? 'graph'
  return { page: 'job', job, tab: known, chosen: decoded(chosen) }
}

/** Undefined for nothing, and for what no page has written. */
function decoded(part: string | undefined): string | undefined {
  if (part === undefined || part === '') return undefined
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}

/** The address of a tab of a job. */
export function jobHref(job: string, tab: Tab = 'graph', chosen?: string): string {
  return `#/jobs/${job}/${tab}${chosen === undefined ? '' : `/${encodeURIComponent(chosen)}`}`
}

/** The present route. */
export const route = signal<Route>({ page: 'overview' })

/** Follows the address. */
export function followAddress(): void {
  const follow = (): void => {
    route.value = routeOf(location.hash)
  }
  addEventListener('hashchange', follow)
  follow()
}
