import { JOB_MANAGER_CLIENT_OPTIONS } from '../cluster/options.ts'
import { type JobRow, RestClient } from '../cluster/rest-client.ts'
import { type Command, Flags } from '../command/command.ts'

const ENDED = ['FINISHED', 'CANCELED', 'FAILED']
const RUNNING_HEAD = '------------------ Running/Restarting Jobs -------------------'
const SCHEDULED_HEAD = '----------------------- Scheduled Jobs -----------------------'
const ENDED_HEAD = '---------------------- Terminated Jobs -----------------------'
const LINE = '--------------------------------------------------------------'

/** `weir list`: lists the jobs of a JobManager. */
export const listCommand: Command = {
  name: 'list',
  summary: 'List the jobs of a JobManager',
  options: {
    all: { type: 'boolean', short: 'a', help: 'Also jobs that have ended' },
    running: { type: 'boolean', short: 'r', help: 'Only jobs that run or restart' },
    scheduled: { type: 'boolean', short: 's', help: 'Only jobs that have not started yet' },
    ...JOB_MANAGER_CLIENT_OPTIONS,
  },
  details: `Examples:
  weir list
  weir list --all -m 10.0.0.5:8081`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const jobs = await RestClient.of(flags).jobs()
    const isScheduled = ({ state }: JobRow): boolean => state === 'CREATED'
    const scheduled = jobs.filter(isScheduled)
    const ended = jobs.filter(({ state }) => ENDED.includes(state))
    const running = jobs.filter((job) => !isScheduled(job) && !ENDED.includes(job.state))
    const all = flags.boolean('all')
    const one = flags.boolean('running') || flags.boolean('scheduled')
    const shown: readonly Group[] = [
      ...(all || !one || flags.boolean('running')
        ? [{ jobs: running, head: RUNNING_HEAD, none: 'No running jobs.' }]
        : []),
      ...(all || !one || flags.boolean('scheduled')
        ? [{ jobs: scheduled, head: SCHEDULED_HEAD, none: 'No scheduled jobs.' }]
        : []),
      ...(all ? [{ jobs: ended, head: ENDED_HEAD, none: 'No terminated jobs.' }] : []),
    ]
    for (const group of shown) {
      if (flags.boolean('json')) for (const job of group.jobs) io.out(JSON.stringify(job))
      else for (const line of linesOf(group)) io.out(line)
    }
    return 0
  },
}

interface Group {
  readonly jobs: readonly JobRow[]
  readonly head: string
  readonly none: string
}

function linesOf({ jobs, head, none }: Group): readonly string[] {
  if (jobs.length === 0) return [none]
  const rows = jobs.map(
    (job) => `${timeText(job['start-time'])} : ${job.jid} : ${job.name} (${job.state})`,
  )
  return [head, ...rows, LINE]
}

/** As Flink prints times, `22.11.2026 14:03:59`, in the zone of this machine. */
function timeText(ms: number): string {
  const date = new Date(ms)
  const two = (n: number): string => String(n).padStart(2, '0')
  const day = `${two(date.getDate())}.${two(date.getMonth() + 1)}.${date.getFullYear()}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}
