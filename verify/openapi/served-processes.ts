import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inProcess } from '../../test/cli/command-here.ts'
import { type CommandProcess, weir } from '../../test/system/cli/command-process.ts'

/** An HTTP port that schemathesis compares with its OpenAPI document. */
export interface ServedPort {
  readonly url: string
  /** Token with the role `admin`. */
  readonly token: string
  /** Configuration of schemathesis. */
  readonly configuration: string
}

/** Commands of one data folder that run until disposal. */
export class ServedProcesses implements AsyncDisposable {
  readonly folder: string
  private readonly processes: CommandProcess[] = []
  private readonly gone: string[] = []
  private isEnding = false

  constructor(folder: string) {
    this.folder = folder
  }

  /** Processes that have ended by themselves. */
  ended(): readonly string[] {
    return this.gone
  }

  open(args: readonly string[]): CommandProcess {
    const process = weir([...args, '--data-dir', this.folder])
    this.processes.unshift(process)
    void process.ended.then(({ code, signal, stderr }) => {
      if (!this.isEnding) {
        this.gone.push(`weir ${args[1]} ended with ${code ?? signal}: ${stderr.slice(-2000)}`)
      }
    })
    return process
  }

  async done(...args: readonly string[]): Promise<void> {
    const { code, stderr } = await inProcess([...args, '--data-dir', this.folder])
    if (code !== 0) throw new Error(`weir ${args.join(' ')}: ${stderr}`)
  }

  /** A file of tokens with one of the role `admin`. */
  async tokens(): Promise<{ readonly file: string; readonly token: string }> {
    const file = join(this.folder, 'tokens.json')
    const created = await inProcess(['token', 'create', '--role', 'admin', '--file', file])
    return { file, token: created.stdout.trim() }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isEnding = true
    for (const process of this.processes) await process[Symbol.asyncDispose]()
  }
}

/** A configuration of schemathesis beside this file, with the values of a run for its `@NAME@`. */
export function configurationOf(
  name: string,
  values: Readonly<Record<string, string>> = {},
): string {
  const text = readFileSync(join(import.meta.dirname, name), 'utf8')
  return text.replaceAll(/@([A-Z_]+)@/g, (_, key: string) => values[key]!)
}
