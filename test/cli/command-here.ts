import { runCommandLine } from '../../src/cli/run-command-line.ts'
import { until } from '../run/until.ts'
import { type CommandResult, PATIENT } from '../system/cli/command-process.ts'
import { recordedIo } from './recorded-io.ts'

/** A way to run a command to its end. */
export type RunCommand = (args: readonly string[], input?: string) => Promise<CommandResult>

/** Runs a command in this process, which has its code already: most commands take less time than a process to start. */
export const inProcess: RunCommand = (args, input) => new CommandHere(args, { input }).ended

/** The same with as much time for an answer as a busy machine may need. */
export const inProcessPatiently: RunCommand = (args, input) =>
  new CommandHere(args, { input, env: PATIENT }).ended

/** What a command in this process is given. */
interface CommandHereOptions {
  /** Standard input. @default empty */
  readonly input?: string | undefined
  /** Its environment. @default empty */
  readonly env?: Readonly<Record<string, string>>
}

/** A command that runs in this process; its end is as after Ctrl-C. */
export class CommandHere implements AsyncDisposable {
  readonly ended: Promise<CommandResult>
  private readonly out: readonly string[]
  private readonly interruption = Promise.withResolvers<void>()
  private hasEnded = false

  constructor(args: readonly string[], { input = '', env = {} }: CommandHereOptions = {}) {
    const interrupted = this.interruption.promise
    const { io, out, err } = recordedIo({ interrupted, input, env })
    this.out = out
    this.ended = runCommandLine(args, io).then((code) => {
      this.hasEnded = true
      return { code, signal: null, stdout: textOf(out), stderr: textOf(err) }
    })
  }

  /** The first line that it prints. */
  async firstLine(): Promise<string> {
    await until('the command prints a line', () => this.hasEnded || this.out.length > 0)
    if (this.out[0] === undefined) throw new Error((await this.ended).stderr)
    return this.out[0]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.interruption.resolve()
    await this.ended
  }
}

const textOf = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('')
