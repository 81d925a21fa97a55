import { RestClient } from '../cluster/rest-client.ts'
import { type CommandInput, Flags } from '../command/command.ts'

/** The job that a command names, and how the command reports. */
export interface NamedJob {
  readonly client: RestClient
  readonly jobId: string
  /** Shows a sentence; nothing with `--json`. */
  say(text: string): void
  /** Shows the result with `--json`. */
  report(result: object): void
}

/** The job of the first argument. Throws as `RestClient.job`. */
export async function namedJob({ flags: values, args, io }: CommandInput): Promise<NamedJob> {
  const flags = new Flags(values)
  const client = RestClient.of(flags)
  const { jid: jobId } = await client.job(args[0]!)
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
