import { JOB_MANAGER_CLIENT_OPTIONS } from '../cluster/options.ts'
import type { Command } from '../command/command.ts'
import { name } from '../flag-kinds/words.ts'
import { namedJob } from './named-job.ts'

/** `weir checkpoint`: takes a checkpoint of a running job. */
export const checkpointCommand: Command = {
  name: 'checkpoint',
  summary: 'Take a checkpoint of a running job',
  positions: [{ value: name('JOB') }],
  options: JOB_MANAGER_CLIENT_OPTIONS,
  details: `JOB is the id of a job, the beginning of it, or the job's name.

Example:
  weir checkpoint 6a0c`,
  async run(input) {
    const { client, jobId, say, report } = await namedJob(input)
    say(`Triggering checkpoint for job ${jobId}.`)
    say('Waiting for response...')
    const path = `/jobs/${jobId}/checkpoints`
    const { checkpointId } = await client.operation<{ readonly checkpointId: number }>(
      { method: 'POST', path, body: {} },
      path,
    )
    say(`Checkpoint ${checkpointId} for job ${jobId} completed.`)
    report({ event: 'checkpoint', jobId, checkpointId })
    return 0
  },
}
