import { RestClient } from '../cluster/rest-client.ts'
import { type Command, type CommandInput, Flags, missingArguments } from '../command/command.ts'

/** The job that a command names, and how the command reports. */
export interface NamedJob {
  readonly client: RestClient
  readonly jobId: string
  /** Shows a sentence; nothing with `--json`. */
  say(text: string): void
  /** Shows the result with `--json`. */
  report(result: object): void
}

/** The job of the first argument. Throws UsageError without one, and as `RestClient.job`. */
export async function namedJob(
  command: Command,
  { flags: values, args: [named], io }: CommandInput,
): Promise<NamedJob> {
  const flags = new Flags(values)
  if (named === undefined) throw missingArguments(command)
  const client = RestClient.of(flags)
  const { jid: jobId } = await client.job(named)
  const isJson = flags.boolean('json')
  return {
    client,
    jobId,
    say: (text) => {
      if (!isJson) io.out(text)
    },
    report: (result) => {
      if (isJson) io.out(JSON.stringify(result))
    },
  }
}
