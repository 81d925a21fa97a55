import type { AssignmentView } from '../../cluster/rest/port/scaled-job.ts'
import { sleep, systemClock } from '../../core/clock.ts'
import { JOB_MANAGER_CLIENT_OPTIONS } from '../cluster/options.ts'
import { type Command, Flags } from '../command/command.ts'
import { name } from '../flag-kinds/words.ts'
import { partitionsText } from '../text/partitions-text.ts'
import { namedJob } from './named-job.ts'

const POLL_MS = 300

/** `weir rebalance`: divides the partitions of a job in many processes again, or drains one of them. */
export const rebalanceCommand: Command = {
  name: 'rebalance',
  summary: 'Divide the partitions of a job in many processes again, or drain one process',
  positions: [{ value: name('JOB') }],
  options: {
    drain: {
      type: 'string',
      value: name('MEMBER'),
      help: 'Let this process hand over all that it has: its id in "weir members", the beginning of it, or its REST address',
    },
    ...JOB_MANAGER_CLIENT_OPTIONS,
  },
  details: `JOB is the id of a job, the beginning of it, or the job's name. A process that drains writes a last checkpoint of
each of its job partitions, gives it to another process, and gets none until "weir rebalance" without --drain, or until it
starts again. Without --drain each process takes its share again, also of what it has given back. The command returns when
that has begun, and with --drain when the process has nothing left.

Examples:
  weir rebalance counts
  weir rebalance counts --drain 10.0.0.7:8081`,
  async run(input) {
    const drain = new Flags(input.flags).optional('drain')
    const { client, jobId, say, report } = await namedJob(input)
    const { asked } = await client.request<{ readonly asked: readonly string[] }>(
      'POST',
      `/weir/jobs/${jobId}/rebalance`,
      drain === undefined ? {} : { drain },
    )
    if (drain === undefined) {
      say(`Asked ${asked.length} processes to take their share; "weir members" shows it.`)
      report({ event: 'rebalanced', jobId, asked })
      return 0
    }
    const [member = drain] = asked
    say(`Draining ${member}.`)
    for (let before = ''; ; await sleep(systemClock, POLL_MS)) {
      const view = await client.request<AssignmentView>('GET', `/weir/jobs/${jobId}/assignment`)
      // A process that has ended has handed over, too.
      const named = view.processes.find((row) => row.member === member || row.rest === member)
      const owned = named?.owned ?? []
      if (owned.length === 0) break
      const text = partitionsText(owned)
      if (text !== before) say(`It still owns ${text}.`)
      before = text
    }
    say(`Drained ${member}: it owns no job partition, and gets none.`)
    report({ event: 'drained', jobId, member })
    return 0
  },
}
