import type { AssignmentView, ProcessRow } from '../../cluster/rest/port/scaled-job.ts'
import { JOB_MANAGER_CLIENT_OPTIONS } from '../cluster/options.ts'
import type { Command } from '../command/command.ts'
import { name } from '../flag-kinds/words.ts'
import { partitionsText } from '../text/partitions-text.ts'
import { namedJob } from './named-job.ts'

/** `weir members`: lists the processes of a job in many, and who owns its partitions. */
export const membersCommand: Command = {
  name: 'members',
  summary: 'List the processes of a job in many processes, and the job partitions that each owns',
  positions: [{ value: name('JOB') }],
  options: JOB_MANAGER_CLIENT_OPTIONS,
  details: `JOB is the id of a job, the beginning of it, or the job's name. Any process of the job answers for all: name
one with --jobmanager. One that does not answer in a second is listed with the reason.

Examples:
  weir members counts
  weir members counts -m 10.0.0.5:8081 --json`,
  async run(input) {
    const { client, jobId, say, report } = await namedJob(input)
    const view = await client.request<AssignmentView>('GET', `/weir/jobs/${jobId}/assignment`)
    for (const line of linesOf(view)) say(line)
    report(view)
    return 0
  },
}

function linesOf(view: AssignmentView): string[] {
  const { applicationId, generation, processes, assignment } = view
  const moving = assignment.filter(({ state }) => state !== 'running')
  const count = processes.length === 1 ? '1 process' : `${processes.length} processes`
  return [
    `Job ${applicationId}: ${count}, ${assignment.length} job partitions, generation ${generation ?? 'none'}`,
    ...processes.flatMap((row) => processLines(row, view)),
    ...(moving.length === 0
      ? ['  all job partitions run']
      : moving.map(({ partition, state }) => `  partition ${partition}: ${state}`)),
  ]
}

function processLines(row: ProcessRow, { assignment }: AssignmentView): string[] {
  const { member, rest, status, reason, host, pid, version, slots, isLeader, isDraining } = row
  const owned = `owns ${partitionsText(row.owned)}`
  if (status === 'silent') return [`  ${member}: does not answer (${reason}); ${owned}`]
  const notes = [isLeader ? 'it assigns' : '', isDraining ? 'draining' : ''].filter(
    (note) => note !== '',
  )
  const ages = assignment.flatMap(({ owner, checkpointAgeMs }) =>
    owner === member && checkpointAgeMs !== null ? [checkpointAgeMs] : [],
  )
  const age = ages.length === 0 ? '' : `, oldest checkpoint ${secondsText(Math.max(...ages))} ago`
  return [
    `  ${member}${notes.length === 0 ? '' : ` (${notes.join(', ')})`}: ${owned}${age}`,
    `    process ${pid} on ${host}, ${rest}, version ${version}, ${slots} slots`,
  ]
}

function secondsText(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
