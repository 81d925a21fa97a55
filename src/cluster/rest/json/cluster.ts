import type { JobStatus } from '../../../runtime/job/status.ts'
import type { JobSnapshot } from '../port/job-snapshot.ts'

/** The version of Flink's REST interface that the paths, fields and status codes follow. */
const FLINK_VERSION = '1.20'

/** `/config`, from which Flink's dashboard decides what it shows. */
export function dashboardConfigJson(version: string): object {
  return {
    'refresh-interval': 3000,
    'timezone-name': 'Coordinated Universal Time',
    'timezone-offset': 0,
    'flink-version': FLINK_VERSION,
    'flink-revision': `weir ${version}`,
    features: {
      'web-submit': false,
      'web-cancel': true,
      'web-rescale': false,
      'web-history': false,
    },
  }
}

const ENDED_AS: readonly (readonly [string, readonly JobStatus[]])[] = [
  ['jobs-finished', ['FINISHED']],
  ['jobs-cancelled', ['CANCELED', 'SUSPENDED']],
  ['jobs-failed', ['FAILED']],
]

/** `/overview`: each slot of a job that has not ended counts as a task manager with one slot; of a job in many processes, each process. */
export function overviewJson(jobs: readonly JobSnapshot[], version: string): object {
  const ended = ENDED_AS.flatMap(([, statuses]) => statuses)
  const active = jobs.filter(({ status }) => !ended.includes(status))
  const total = (of: (job: JobSnapshot) => number): number =>
    active.reduce((sum, job) => sum + of(job), 0)
  const counts = ENDED_AS.map(([name, statuses]) => [
    name,
    jobs.filter(({ status }) => statuses.includes(status)).length,
  ])
  return {
    taskmanagers: total(({ processes, slots }) => (processes ?? slots).length),
    'slots-total': total(slotsOf),
    'slots-available': 0,
    'jobs-running': active.length,
    ...Object.fromEntries(counts),
    'flink-version': FLINK_VERSION,
    'flink-commit': `weir ${version}`,
  }
}

/** Slot threads of a job. */
function slotsOf({ processes, slots }: JobSnapshot): number {
  return processes?.reduce((sum, process) => sum + process.slots, 0) ?? slots.length
}

/** Key and value pairs as Flink writes configurations. */
export function configurationJson(configuration: Readonly<Record<string, string>>): object[] {
  return Object.entries(configuration).map(([key, value]) => ({ key, value }))
}
