import type { Readable } from 'node:stream'
import { isWeirError } from '../../core/errors.ts'
import type { ParentChannel } from '../../jobmanager/process/supervised-job.ts'
import { UsageError } from './usage-error.ts'

export { UsageError } from './usage-error.ts'

/** Style of text on a terminal. */
export type TextStyle = 'bold' | 'dim' | 'red' | 'cyan'

/** One flag of a command. */
export interface OptionSpec {
  readonly type: 'string' | 'boolean'
  /** Text in `--help`; starts with the meaning of the value. */
  readonly help: string
  /** Name of the value in `--help`, `N` or `FILE`. */
  readonly value?: string
  readonly default?: string | boolean
  readonly multiple?: boolean
  readonly short?: string
  /** Read only from the environment and the configuration file: other users can see command lines. */
  readonly isSecret?: boolean
}

/** Parsed flags and positional arguments. */
export interface CommandInput {
  readonly flags: Readonly<Record<string, string | boolean | readonly string[] | undefined>>
  readonly args: readonly string[]
  readonly io: CommandIo
  /** Loads every command; only commands about the command line itself need the others. */
  readonly commands: () => Promise<readonly Command[]>
}

/** Input, output and signals of the process that runs a command. */
export interface CommandIo {
  readonly input: Readable
  /** Prints a line; what a terminal would obey in it is made visible. */
  readonly out: (line: string) => void
  /** Prints a line as it is. @default as `out` */
  readonly outRaw?: (line: string) => void
  /** Resolves when the reader of `out` has caught up; commands with much output wait for it. */
  readonly drained: () => Promise<void>
  readonly err: (line: string) => void
  /** Replaces the last line of progress; undefined if stderr is not a terminal. */
  readonly rewriteLine: ((line: string) => void) | undefined
  /** Width of the terminal that `out` writes to; undefined if it is none. */
  readonly columns?: number | undefined
  /** Styles text for `out`; returns it unchanged if `out` is not a terminal with colours. */
  readonly style: (style: TextStyle, text: string) => string
  /** Resolves at the first Ctrl-C or SIGTERM. */
  readonly interrupted: Promise<void>
  readonly env: Readonly<Record<string, string | undefined>>
  /** The JobManager that started this process to run a job; undefined in a process that a user started. */
  readonly jobManager?: ParentJobManager | undefined
}

/** The JobManager that started this process. */
export interface ParentJobManager {
  /** Id of the job that this process runs. */
  readonly jobId: string
  readonly channel: ParentChannel
  /** Reports what ended the command. */
  failed(error: unknown): Promise<void>
}

/** One verb of `weir`. */
export interface Command {
  /** Words that select the command, such as `train als`. */
  readonly name: string
  readonly summary: string
  /** Positional arguments as shown in the usage line. */
  readonly usage?: string
  readonly options: Readonly<Record<string, OptionSpec>>
  /** Notes and examples at the end of `--help`. */
  readonly details?: string
  /** More text of `--help` about the given positional arguments. */
  helpFor?(args: readonly string[]): Promise<string | undefined>
  /**
   * Whether the command watches `io.interrupted` itself, because it has something to finish. All others
   * end at once.
   */
  readonly stopsItself?: boolean
  /** Runs the command. Returns the exit code; undefined is 0. */
  run(input: CommandInput): Promise<number | undefined>
}

/** Error of a command that Ctrl-C ended: exit code 130. */
export class InterruptedError extends Error {}

/** The result of `work`; throws InterruptedError as soon as Ctrl-C or SIGTERM comes. */
export function unlessInterrupted<T>(work: Promise<T>, io: CommandIo): Promise<T> {
  const interrupted = io.interrupted.then(() => {
    throw new InterruptedError('interrupted')
  })
  return Promise.race([work, interrupted])
}

/** A signal that aborts with InterruptedError as soon as Ctrl-C or SIGTERM comes. */
export function interruptionSignal(io: CommandIo): AbortSignal {
  const abort = new AbortController()
  void io.interrupted.then(() => abort.abort(new InterruptedError('interrupted')))
  return abort.signal
}

/** Options of every command. */
export const COMMON_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  help: { type: 'boolean', help: 'Show this text', short: 'h' },
  json: { type: 'boolean', help: 'Print results as JSON, one object a line' },
  config: {
    type: 'string',
    value: 'FILE',
    help: 'Configuration file (default: weir.yaml if it exists)',
  },
  'strict-secrets': {
    type: 'boolean',
    help: 'Refuse files with secrets that other users can read (default: warn)',
  },
}

/** The usage of a command without its options. */
export function usageOf({ name, usage = '' }: Command): string {
  return `weir ${name} ${usage}`.trimEnd()
}

/** The error of a command whose positional arguments are missing. */
export function missingArguments(command: Command): UsageError {
  return new UsageError(`missing arguments. Usage: ${usageOf(command)}`)
}

/** Throws UsageError if there are more positional arguments than the usage line of the command names. */
export function refuseExtraArguments(command: Command, args: readonly string[]): void {
  const most = mostArguments(command.usage ?? '')
  if (args.length <= most) return
  throw new UsageError(`unexpected argument "${args[most]}". Usage: ${usageOf(command)}`)
}

/** Positional arguments in a usage line, which may have alternatives: `USER ITEM...`, `--file FILE | NAME`. */
function mostArguments(usage: string): number {
  if (usage.includes('...')) return Number.POSITIVE_INFINITY
  const alternatives = usage.split('|').map((words) => {
    const positional = words.replaceAll(/\[--\S+\]|--\S+ \S+/g, ' ').trim()
    return positional === '' ? 0 : positional.split(/\s+/).length
  })
  return Math.max(...alternatives)
}

/** Flags of a command, read with their types. Every getter throws UsageError for a wrong value. */
export class Flags {
  private readonly values: CommandInput['flags']

  constructor(values: CommandInput['flags']) {
    this.values = values
  }

  /** Whether the flag is set. */
  boolean(name: string): boolean {
    return this.values[name] === true
  }

  /** The value of a flag; undefined if it is missing and has no default. */
  optional(name: string): string | undefined {
    const value = this.values[name]
    return typeof value === 'string' ? value : undefined
  }

  /** The value of a required flag. */
  string(name: string): string {
    const value = this.optional(name)
    if (value === undefined) throw new UsageError(`--${name} is required`)
    return value
  }

  /** The values of a repeatable flag. */
  list(name: string): readonly string[] {
    const value = this.values[name]
    return Array.isArray(value) ? value : []
  }

  /** A whole number from `min` to `max`. */
  integer(name: string, min = 0, max: number = Number.MAX_SAFE_INTEGER): number {
    const value = this.number(name)
    if (!Number.isInteger(value) || value < min || value > max) {
      throw new UsageError(`--${name} must be a whole number from ${min} to ${max}, not ${value}`)
    }
    return value
  }

  /** A finite number. */
  number(name: string): number {
    const text = this.string(name)
    const value = Number(text)
    if (text.trim() === '' || !Number.isFinite(value)) {
      throw new UsageError(`--${name} must be a number, not "${text}"`)
    }
    return value
  }

  /** As `integer`; undefined if the flag is missing. */
  optionalInteger(name: string, min = 0, max?: number): number | undefined {
    return this.optional(name) === undefined ? undefined : this.integer(name, min, max)
  }

  /** One of `choices`. */
  choice<T extends string>(name: string, choices: readonly T[]): T {
    const text = this.string(name)
    const found = choices.find((choice) => choice === text)
    if (found === undefined) {
      throw new UsageError(`--${name} must be one of ${choices.join(', ')}, not "${text}"`)
    }
    return found
  }
}

/** The exit code of an error that a command threw: 2 for wrong usage, 130 for Ctrl-C, 1 otherwise. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof InterruptedError) return 130
  if (error instanceof UsageError) return 2
  if (
    isWeirError(error) &&
    (error.code === 'UNKNOWN_OPTION' || error.code === 'INVALID_ARGUMENT')
  ) {
    return 2
  }
  return 1
}
