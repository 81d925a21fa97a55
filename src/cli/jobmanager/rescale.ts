import { JOB_MANAGER_CLIENT_OPTIONS } from '../cluster/options.ts'
import { type Command, Flags } from '../command/command.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'
import { name } from '../flag-kinds/words.ts'
import { MAX_SLOTS } from '../flags/serving.ts'
import { namedJob } from './named-job.ts'

/** `weir rescale`: lets a running job go on with another parallelism. */
export const rescaleCommand: Command = {
  name: 'rescale',
  summary: 'Let a running job go on with more slots, or with fewer',
  positions: [{ value: name('JOB') }],
  options: {
    parallelism: {
      type: 'string',
      isRequired: true,
      short: 'p',
      value: wholeNumber({ min: 1, max: MAX_SLOTS }),
      help: 'Number of slots from now on',
    },
    ...JOB_MANAGER_CLIENT_OPTIONS,
  },
  details: `JOB is the id of a job, the beginning of it, or the job's name. The job takes a checkpoint, its process
ends, and another one continues from there under the same id: nothing is lost or done twice. If it does
not start with that parallelism, it goes on with the one that it had.

Example:
  weir rescale 6a0c --parallelism 4`,
  async run(input) {
    const flags = new Flags(input.flags)
    const parallelism = flags.number('parallelism')
    const { client, jobId, say, report } = await namedJob(input)
    say(`Modify job ${jobId}.`)
    const path = `/jobs/${jobId}/rescaling`
    const query = `?parallelism=${parallelism}`
    await client.operation<object>({ method: 'PATCH', path: `${path}${query}` }, path)
    say(`Rescaled job ${jobId}. Its new parallelism is ${parallelism}.`)
    report({ event: 'rescaled', jobId, parallelism })
    return 0
  },
}
