import { JOB_MANAGER_CLIENT_OPTIONS, RestClient } from '../cluster/rest-client.ts'
import { type Command, Flags, missingArguments } from '../command/command.ts'

/** `weir stop`: ends a job with a savepoint. */
export const stopCommand: Command = {
  name: 'stop',
  summary: 'End a job with a savepoint',
  usage: 'JOB',
  options: {
    savepointPath: {
      type: 'string',
      short: 'p',
      value: 'FOLDER',
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
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const [named] = args
    if (named === undefined) throw missingArguments(stopCommand)
    const client = RestClient.of(flags)
    const { jid } = await client.job(named)
    const say = (text: string): void => {
      if (!flags.boolean('json')) io.out(text)
    }
    say(`Suspending job "${jid}" with a CANONICAL savepoint.`)
    say(`Triggering stop-with-savepoint for job ${jid}.`)
    say('Waiting for response...')
    const { location } = await client.operation<{ readonly location: string }>(
      `/jobs/${jid}/stop`,
      `/jobs/${jid}/savepoints`,
      { targetDirectory: flags.optional('savepointPath') ?? null, drain: flags.boolean('drain') },
    )
    say(`Savepoint completed. Path: ${location}`)
    if (flags.boolean('json')) io.out(JSON.stringify({ event: 'stopped', jobId: jid, location }))
    return 0
  },
}
