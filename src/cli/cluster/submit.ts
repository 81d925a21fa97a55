import type { Command, CommandInput } from '../command/command.ts'
import { Flags } from '../command/command.ts'
import { RestClient } from './rest-client.ts'
import { submissionOf } from './submission.ts'

/** Submits a job to the JobManager of `--jobmanager`; returns the exit code. Throws as the JobManager. */
export async function submitDetached(
  job: string,
  options: Command['options'],
  { flags: values, io }: Pick<CommandInput, 'flags' | 'io'>,
): Promise<number> {
  const flags = new Flags(values)
  const client = RestClient.of(flags)
  const submission = submissionOf(job, options, values)
  const { jobid } = await client.request<{ readonly jobid: string }>('POST', '/jobs', submission)
  if (flags.boolean('json')) io.out(JSON.stringify({ event: 'submitted', jobId: jobid }))
  else io.out(`Job has been submitted with JobID ${jobid}`)
  return 0
}
