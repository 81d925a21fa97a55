import { JOB_MANAGER_CLIENT_OPTIONS } from '../cluster/options.ts'
import type { Command } from '../command/command.ts'
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

/** `weir info`: shows a job and its operators. */
export const infoCommand: Command = {
  name: 'info',
  summary: 'Show a job of a JobManager and its operators',
  usage: 'JOB',
  options: JOB_MANAGER_CLIENT_OPTIONS,
  details: `JOB is the id of a job, the beginning of it, or the job's name.

Examples:
  weir info 6a0c
  weir info als-serving --json`,
  async run(input) {
    const { client, jobId, say, report } = await namedJob(infoCommand, input)
    const job = await client.request<JobDetail>('GET', `/jobs/${jobId}`)
    for (const line of linesOf(job)) say(line)
    report(job)
    return 0
  },
}

function linesOf({ jid, name, state, duration, vertices, maxParallelism }: JobDetail): string[] {
  return [
    `Job ${jid}: ${name}`,
    `  state ${state}, for ${Math.round(duration / 1000)} s, max parallelism ${maxParallelism}`,
    ...vertices.map(
      ({ name: vertex, parallelism, status, metrics }) =>
        `  ${vertex}: ${status}, parallelism ${parallelism}, ${metrics['read-records']} records in, ${metrics['write-records']} out`,
    ),
  ]
}
