import type { Readable } from 'node:stream'
import type { ParentChannel } from '../../cluster/jobmanager/process/supervised-job.ts'
import { isWeirError } from '../../core/errors.ts'
import { decimalNumber } from '../../core/text/decimal-number.ts'
import type { FlagKind } from '../flag-kinds/flag-kind.ts'
import { input } from '../flag-kinds/places.ts'
import { UsageError } from './usage-error.ts'

export { UsageError } from './usage-error.ts'

/** Style of text on a terminal. */
export type TextStyle = 'bold' | 'dim' | 'red' | 'cyan'

/** One flag of a command: a switch, or one with a value. Its declaration is all that checks it (`check-flags.ts`). */
export type OptionSpec = SwitchSpec | ValueSpec

interface CommonSpec {
  /** Text in `--help`; starts with the meaning of the value. */
  readonly help: string
  readonly short?: string
  /** Without these the flag counts for nothing, so it is refused on a command line. */
  readonly needs?: readonly FlagNeed[]
  /** Flags beside which it cannot be on a command line. */
  readonly excludes?: readonly string[]
}

/** A flag that is set or not: `--json`, and `--no-json` against a setting. */
export interface SwitchSpec extends CommonSpec {
  readonly type: 'boolean'
  readonly value?: undefined
  readonly default?: undefined
  readonly multiple?: undefined
  readonly isRequired?: undefined
  readonly isSecret?: undefined
  readonly parts?: undefined
}

/** A flag with a value. */
export interface ValueSpec extends CommonSpec {
  readonly type: 'string'
  /** Which values the flag takes. */
  readonly value: FlagKind
  readonly default?: string
  /** Whether the flag may come several times, each time with a value more. */
  readonly multiple?: boolean
  readonly isRequired?: boolean
  /** Read only from the environment and the configuration file: other users can see command lines. */
  readonly isSecret?: boolean
  /** Of a flag that stands for others, as an address for a host and a port: their values. */
  parts?(text: string): Readonly<Record<string, string | readonly string[]>>
}

/** A flag that another one needs: set, and to one of `words` where there are some. */
export interface FlagNeed {
  readonly flag: string
  readonly words: readonly string[]
}

/** Says that a flag needs another one, set to one of the words if there are some. */
export function needs(flag: string, ...words: readonly string[]): FlagNeed {
  return { flag, words }
}

/** The flags, each of which needs another one, too. */
export function withNeed(
  options: Readonly<Record<string, OptionSpec>>,
  flag: string,
): Readonly<Record<string, OptionSpec>> {
  return Object.fromEntries(
    Object.entries(options).map(([name, spec]) => [
      name,
      { ...spec, needs: [...(spec.needs ?? []), needs(flag)] },
    ]),
  )
}

/** One positional argument of a command, or the last ones where it is repeated. Its declaration is all that checks it. */
export interface PositionSpec {
  /** Which texts it takes; the usage and messages call it by the name that the kind shows: `VERSION`. */
  readonly value: FlagKind
  /** The kind beside a flag that makes it another thing, by that flag. */
  readonly beside?: Readonly<Record<string, FlagKind>>
  readonly isOptional?: boolean
  /** Whether all further arguments are of this kind, too. */
  readonly isRepeated?: boolean
  /** Flags that say the same: exactly one of them and of the argument is given. */
  readonly orFlags?: readonly string[]
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
  /** Its positional arguments, in order. @default none */
  readonly positions?: readonly PositionSpec[]
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
    value: input(),
    help: 'Configuration file (default: weir.yaml if it exists)',
  },
  'strict-secrets': {
    type: 'boolean',
    help: 'Refuse files with secrets that other users can read (default: warn)',
  },
}

/** Whether what a flag needs is there. */
export function isMet({ flag, words }: FlagNeed, flags: CommandInput['flags']): boolean {
  const value = flags[flag]
  return words.length === 0 ? isSet(value) : words.includes(String(value))
}

/** Whether a flag has a value, or is a switch that is on. */
export function isSet(value: CommandInput['flags'][string]): boolean {
  return value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0)
}

/**
 * Flags of a command, read with their types. `parseCommandLine` has checked the values, so the getters only convert them; they
 * throw UsageError where no check was done.
 */
export class Flags {
  private readonly values: CommandInput['flags']

  constructor(values: CommandInput['flags']) {
    this.values = values
  }

  /** Whether the flag is set. */
  boolean(name: string): boolean {
    return this.values[name] === true
  }

  /** Whether the flag has a value, or is a switch that is on. */
  has(name: string): boolean {
    return isSet(this.values[name])
  }

  /** The value of a flag; undefined if it is missing and has no default. */
  optional(name: string): string | undefined {
    const value = this.values[name]
    return typeof value === 'string' ? value : undefined
  }

  /** The value of a flag that is required or has a default. */
  string(name: string): string {
    const value = this.optional(name)
    if (value === undefined) throw new UsageError(`--${name} is required`)
    return value
  }

  /** Whether a flag counts for something beside the others: it has what it needs. */
  counts({ needs: all = [] }: OptionSpec): boolean {
    return all.every((need) => isMet(need, this.values))
  }

  /** The values of a repeatable flag. */
  list(name: string): readonly string[] {
    const value = this.values[name]
    return Array.isArray(value) ? value : []
  }

  /** The number of a flag that is required or has a default. */
  number(name: string): number {
    const text = this.string(name)
    const value = decimalNumber(text)
    if (Number.isNaN(value)) throw new UsageError(`--${name} must be a number, not "${text}"`)
    return value
  }

  /** As `number`; undefined if the flag is missing. */
  optionalNumber(name: string): number | undefined {
    return this.optional(name) === undefined ? undefined : this.number(name)
  }

  /** The word of a flag that is required or has a default: one of the words of its kind. */
  choice<T extends string>(name: string, words: readonly T[]): T {
    const text = this.string(name)
    const found = words.find((word) => word === text)
    if (found !== undefined) return found
    throw new UsageError(`--${name} must be one of ${words.join(', ')}, not "${text}"`)
  }

  /** As `choice`; undefined if the flag is missing. */
  optionalChoice<T extends string>(name: string, words: readonly T[]): T | undefined {
    return this.optional(name) === undefined ? undefined : this.choice(name, words)
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
