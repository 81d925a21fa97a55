import { JOB_MANAGER_CLIENT_OPTIONS } from '../cluster/options.ts'
import type { Command } from '../command/command.ts'
import { name } from '../flag-kinds/words.ts'
import { namedJob } from './named-job.ts'

/** `weir cancel`: ends a job without a savepoint. */
export const cancelCommand: Command = {
  name: 'cancel',
  summary: 'End a job at once, without a savepoint',
  positions: [{ value: name('JOB') }],
  options: JOB_MANAGER_CLIENT_OPTIONS,
  details: `JOB is the id of a job, the beginning of it, or the job's name. Checkpoints of the job are kept.

Example:
  weir cancel 6a0c`,
  async run(input) {
    const { client, jobId, say, report } = await namedJob(input)
    say(`Cancelling job ${jobId}.`)
    await client.request('PATCH', `/jobs/${jobId}?mode=cancel`)
    say(`Cancelled job ${jobId}.`)
    report({ event: 'cancelled', jobId })
    return 0
  },
}
