import { JOB_MANAGER_CLIENT_OPTIONS, RestClient } from '../cluster/rest-client.ts'
import { type Command, Flags, missingArguments } from '../command/command.ts'

/** `weir cancel`: ends a job without a savepoint. */
export const cancelCommand: Command = {
  name: 'cancel',
  summary: 'End a job at once, without a savepoint',
  usage: 'JOB',
  options: JOB_MANAGER_CLIENT_OPTIONS,
  details: `JOB is the id of a job, the beginning of it, or the job's name. Checkpoints of the job are kept.

Example:
  weir cancel 6a0c`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const [named] = args
    if (named === undefined) throw missingArguments(cancelCommand)
    const client = RestClient.of(flags)
    const { jid } = await client.job(named)
    const say = (text: string): void => {
      if (!flags.boolean('json')) io.out(text)
    }
    say(`Cancelling job ${jid}.`)
    await client.request('PATCH', `/jobs/${jid}?mode=cancel`)
    say(`Cancelled job ${jid}.`)
    if (flags.boolean('json')) io.out(JSON.stringify({ event: 'cancelled', jobId: jid }))
    return 0
  },
}
