import { JOB_MANAGER_CLIENT_OPTIONS, RestClient } from '../cluster/rest-client.ts'
import { type Command, Flags, missingArguments } from '../command/command.ts'

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
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const [named] = args
    if (named === undefined) throw missingArguments(infoCommand)
    const client = RestClient.of(flags)
    const { jid } = await client.job(named)
    const job = await client.request<JobDetail>('GET', `/jobs/${jid}`)
    if (flags.boolean('json')) io.out(JSON.stringify(job))
    else for (const line of linesOf(job)) io.out(line)
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
