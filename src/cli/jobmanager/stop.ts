import { JOB_MANAGER_CLIENT_OPTIONS } from '../cluster/options.ts'
import { type Command, Flags } from '../command/command.ts'
import { path } from '../flag-kinds/places.ts'
import { name } from '../flag-kinds/words.ts'
import { namedJob } from './named-job.ts'

/** `weir stop`: ends a job with a savepoint. */
export const stopCommand: Command = {
  name: 'stop',
  summary: 'End a job with a savepoint',
  positions: [{ value: name('JOB') }],
  options: {
    savepointPath: {
      type: 'string',
      short: 'p',
      value: path('FOLDER'),
      help: "Folder of the job's checkpoint storage for the savepoint (default: savepoints)",
    },
    drain: {
      type: 'boolean',
      short: 'd',
      help: 'Let every window and timer fire first, as at the end of all input',
    },
    ...JOB_MANAGER_CLIENT_OPTIONS,
  },
  details: `JOB is the id of a job, the beginning of it, or the job's name.

Examples:
  weir stop 6a0c
  weir stop 6a0c --savepointPath before-upgrade`,
  async run(input) {
    const { client, jobId, say, report } = await namedJob(input)
    const flags = new Flags(input.flags)
    say(`Suspending job "${jobId}" with a CANONICAL savepoint.`)
    say(`Triggering stop-with-savepoint for job ${jobId}.`)
    say('Waiting for response...')
    const { location } = await client.operation<{ readonly location: string }>(
      {
        method: 'POST',
        path: `/jobs/${jobId}/stop`,
        body: {
          targetDirectory: flags.optional('savepointPath') ?? null,
          drain: flags.boolean('drain'),
        },
      },
      `/jobs/${jobId}/savepoints`,
    )
    say(`Savepoint completed. Path: ${location}`)
    report({ event: 'stopped', jobId, location })
    return 0
  },
}
