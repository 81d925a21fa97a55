import { JOB_MANAGER_CLIENT_OPTIONS } from '../cluster/options.ts'
import type { RestClient } from '../cluster/rest-client.ts'
import type { Command } from '../command/command.ts'
import { name } from '../flag-kinds/words.ts'
import { namedJob } from './named-job.ts'

interface JobDetail {
  readonly jid: string
  readonly name: string
  readonly state: string
  readonly duration: number
  readonly maxParallelism: number
  readonly vertices: readonly {
    readonly name: string
    readonly parallelism: number
    readonly status: string
    readonly metrics: Readonly<Record<string, number>>
  }[]
}

/** The slots of all running jobs; `dataPort` is the query port of the job, -1 for a job without one. */
interface TaskManagers {
  readonly taskmanagers: readonly { readonly id: string; readonly dataPort: number }[]
}

/** `weir info`: shows a job and its operators. */
export const infoCommand: Command = {
  name: 'info',
  summary: 'Show a job of a JobManager: its state, query port and operators',
  positions: [{ value: name('JOB') }],
  options: JOB_MANAGER_CLIENT_OPTIONS,
  details: `JOB is the id of a job, the beginning of it, or the job's name.

Examples:
  weir info 6a0c
  weir info als-serving --json`,
  async run(input) {
    const { client, jobId, say, report } = await namedJob(input)
    const job = await client.request<JobDetail>('GET', `/jobs/${jobId}`)
    const queryPort = await queryPortOf(client, jobId)
    for (const line of linesOf(job, queryPort)) say(line)
    report({ ...job, 'query-port': queryPort ?? null })
    return 0
  },
}

/** The port where the job answers queries; undefined if it does not run, or answers none. */
async function queryPortOf(client: RestClient, jobId: string): Promise<number | undefined> {
  const { taskmanagers } = await client.request<TaskManagers>('GET', '/taskmanagers')
  const slot = taskmanagers.find(({ id }) => id.startsWith(`${jobId}-slot-`))
  return slot === undefined || slot.dataPort < 0 ? undefined : slot.dataPort
}

function linesOf(job: JobDetail, queryPort: number | undefined): string[] {
  const { jid, name, state, duration, vertices, maxParallelism } = job
  return [
    `Job ${jid}: ${name}`,
    `  state ${state}, for ${Math.round(duration / 1000)} s, max parallelism ${maxParallelism}`,
    ...(queryPort === undefined ? [] : [`  queries on port ${queryPort}`]),
    ...vertices.map(
      ({ name: vertex, parallelism, status, metrics }) =>
        `  ${vertex}: ${status}, parallelism ${parallelism}, ${metrics['read-records']} records in, ${metrics['write-records']} out`,
    ),
  ]
}
