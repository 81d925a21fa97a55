import { runCommandLine } from '../../../src/cli/run-command-line.ts'
import { recordedIo } from '../../cli/recorded-io.ts'
import { jsonLines } from '../cli/command-process.ts'

/** What a verb printed, and its exit code. */
export interface Outcome {
  readonly code: number
  readonly out: string
  readonly err: string
  readonly json: () => Record<string, unknown>[]
}

/** Runs a verb in this process, without a configuration file of the folder. */
export async function runVerb(
  argv: readonly string[],
  env: Record<string, string> = {},
): Promise<Outcome> {
  const { io, out, err } = recordedIo()
  const code = await runCommandLine(argv, { ...io, env })
  const text = out.join('\n')
  return { code, out: text, err: err.join('\n'), json: () => jsonLines(text) }
}
