import { JOB_MANAGER_CLIENT_OPTIONS, RestClient } from '../cluster/rest-client.ts'
import { type Command, Flags, missingArguments } from '../command/command.ts'

/** `weir savepoint`: takes a savepoint of a running job. */
export const savepointCommand: Command = {
  name: 'savepoint',
  summary: 'Take a savepoint of a running job',
  usage: 'JOB [FOLDER]',
  options: JOB_MANAGER_CLIENT_OPTIONS,
  details: `JOB is the id of a job, the beginning of it, or the job's name. FOLDER is a folder of the job's checkpoint
storage (default: savepoints). The job goes on.

Examples:
  weir savepoint 6a0c
  weir run -d als-serving --restore-from file:///data/checkpoints/savepoints/savepoint-6a0c11-0123456789ab`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const [named, folder] = args
    if (named === undefined) throw missingArguments(savepointCommand)
    const client = RestClient.of(flags)
    const { jid } = await client.job(named)
    const say = (text: string): void => {
      if (!flags.boolean('json')) io.out(text)
    }
    say(`Triggering savepoint for job ${jid}.`)
    say('Waiting for response...')
    const { location } = await client.operation<{ readonly location: string }>(
      `/jobs/${jid}/savepoints`,
      `/jobs/${jid}/savepoints`,
      { 'target-directory': folder ?? null, 'cancel-job': false },
    )
    say(`Savepoint completed. Path: ${location}`)
    say('You can resume your program from this savepoint with the run command.')
    if (flags.boolean('json')) io.out(JSON.stringify({ event: 'savepoint', jobId: jid, location }))
    return 0
  },
}
