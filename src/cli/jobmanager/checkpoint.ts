import { JOB_MANAGER_CLIENT_OPTIONS, RestClient } from '../cluster/rest-client.ts'
import { type Command, Flags, missingArguments } from '../command/command.ts'

/** `weir checkpoint`: takes a checkpoint of a running job. */
export const checkpointCommand: Command = {
  name: 'checkpoint',
  summary: 'Take a checkpoint of a running job',
  usage: 'JOB',
  options: JOB_MANAGER_CLIENT_OPTIONS,
  details: `JOB is the id of a job, the beginning of it, or the job's name.

Example:
  weir checkpoint 6a0c`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const [named] = args
    if (named === undefined) throw missingArguments(checkpointCommand)
    const client = RestClient.of(flags)
    const { jid } = await client.job(named)
    const say = (text: string): void => {
      if (!flags.boolean('json')) io.out(text)
    }
    say(`Triggering checkpoint for job ${jid}.`)
    say('Waiting for response...')
    const { checkpointId } = await client.operation<{ readonly checkpointId: number }>(
      `/jobs/${jid}/checkpoints`,
      `/jobs/${jid}/checkpoints`,
      {},
    )
    say(`Checkpoint ${checkpointId} for job ${jid} completed.`)
    if (flags.boolean('json')) {
      io.out(JSON.stringify({ event: 'checkpoint', jobId: jid, checkpointId }))
    }
    return 0
  },
}
