import { JOB_MANAGER_CLIENT_OPTIONS } from '../cluster/options.ts'
import type { Command } from '../command/command.ts'
import { checkpointPlace } from '../flag-kinds/places.ts'
import { name } from '../flag-kinds/words.ts'
import { namedJob } from './named-job.ts'

/** `weir savepoint`: takes a savepoint of a running job. */
export const savepointCommand: Command = {
  name: 'savepoint',
  summary: 'Take a savepoint of a running job',
  positions: [{ value: name('JOB') }, { value: checkpointPlace('FOLDER'), isOptional: true }],
  options: JOB_MANAGER_CLIENT_OPTIONS,
  details: `JOB is the id of a job, the beginning of it, or the job's name. FOLDER is a folder of the job's checkpoint
storage (default: savepoints). The job goes on.

Examples:
  weir savepoint 6a0c
  weir run -d als-serving --restore-from file:///data/checkpoints/savepoints/savepoint-6a0c11-0123456789ab`,
  async run(input) {
    const { client, jobId, say, report } = await namedJob(input)
    say(`Triggering savepoint for job ${jobId}.`)
    say('Waiting for response...')
    const path = `/jobs/${jobId}/savepoints`
    const body = { 'target-directory': input.args[1] ?? null, 'cancel-job': false }
    const { location } = await client.operation<{ readonly location: string }>(
      { method: 'POST', path, body },
      path,
    )
    say(`Savepoint completed. Path: ${location}`)
    say('You can resume your program from this savepoint with the run command.')
    report({ event: 'savepoint', jobId, location })
    return 0
  },
}
