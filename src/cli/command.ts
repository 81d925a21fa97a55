import { parseArgs } from 'node:util'
import { WeirError } from '../core/errors.ts'
import { nearestWord } from '../core/nearest-word.ts'
import { environmentName, NO_SETTINGS, type Settings } from './settings.ts'
import { UsageError } from './usage-error.ts'

export { UsageError } from './usage-error.ts'

/** How text stands out on a terminal. */
export type TextStyle = 'bold' | 'dim' | 'red' | 'cyan'

/** One flag of a command. */
export interface OptionSpec {
  readonly type: 'string' | 'boolean'
  /** Shown in `--help`; starts with what the value is. */
  readonly help: string
  /** Name of the value in `--help`, `N` or `FILE`. */
  readonly value?: string
  readonly default?: string | boolean
  readonly multiple?: boolean
  readonly short?: string
  /** Taken from the environment and the configuration file alone: other users see command lines. */
  readonly isSecret?: boolean
}

/** Parsed flags and positional arguments. */
export interface CommandInput {
  readonly flags: Readonly<Record<string, string | boolean | readonly string[] | undefined>>
  readonly args: readonly string[]
  readonly io: CommandIo
}

/** Where a command writes and what it may ask of the process. */
export interface CommandIo {
  readonly out: (line: string) => void
  readonly err: (line: string) => void
  /** Shows a line of progress in place of the last one; undefined where stderr is no terminal. */
  readonly rewriteLine: ((line: string) => void) | undefined
  /** Decorates text for `out`, where that is a terminal that shows colours. */
  readonly style: (style: TextStyle, text: string) => string
  /** Resolves at the first Ctrl-C or SIGTERM. */
  readonly interrupted: Promise<void>
  readonly env: Readonly<Record<string, string | undefined>>
}

/** One verb of `weir`. */
export interface Command {
  /** The words that select it, such as `train als`. */
  readonly name: string
  readonly summary: string
  /** Positional arguments as shown in the usage line. */
  readonly usage?: string
  readonly options: Readonly<Record<string, OptionSpec>>
  /** Sentences and examples at the end of `--help`. */
  readonly details?: string
  /** Runs it; the exit code is 0 unless it throws or returns another. */
  run(input: CommandInput): Promise<number | undefined>
}

/** Thrown by long work that Ctrl-C ended: exit code 130. */
export class InterruptedError extends Error {}

const COMMON: Record<string, OptionSpec> = {
  help: { type: 'boolean', help: 'Show this text', short: 'h' },
  json: { type: 'boolean', help: 'Print results as JSON lines' },
  config: {
    type: 'string',
    value: 'FILE',
    help: 'Configuration file (default: weir.yaml, if there is one)',
  },
}

/** Name of the option that takes Flink's keys. */
const KEYS_OPTION = 'set'

/**
 * Parses what follows the verb. What no flag says is taken from `settings`, then from the option's
 * default. Throws UsageError naming the nearest flag.
 */
export function parseCommandLine(
  command: Command,
  argv: readonly string[],
  settings: (configFlag: string | undefined) => Settings = () => NO_SETTINGS,
): Pick<CommandInput, 'flags' | 'args'> {
  const specs = { ...COMMON, ...command.options }
  refuseUnknownFlags(specs, argv)
  const options = Object.fromEntries(
    Object.entries(specs).map(([name, spec]) => [
      name,
      {
        type: spec.type,
        multiple: spec.multiple ?? false,
        ...(spec.short === undefined ? {} : { short: spec.short }),
      },
    ]),
  )
  let parsed: ReturnType<typeof parseArgs>
  try {
    parsed = parseArgs({ args: [...argv], options, allowPositionals: true, strict: true })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
  const given = parsed.values as CommandInput['flags']
  const config = given['config']
  const said = settings(typeof config === 'string' ? config : undefined)
  return { flags: complete(specs, given, said), args: parsed.positionals }
}

function complete(
  specs: Record<string, OptionSpec>,
  given: CommandInput['flags'],
  said: Settings,
): CommandInput['flags'] {
  const flags: Record<string, string | boolean | readonly string[] | undefined> = {}
  for (const [name, spec] of Object.entries(specs)) {
    flags[name] = given[name] ?? settingOf(name, spec, said) ?? spec.default
  }
  if (Object.hasOwn(specs, KEYS_OPTION)) {
    const keys = Object.entries(said.configuration).map(([key, value]) => `${key}=${value}`)
    flags[KEYS_OPTION] = [...keys, ...((given[KEYS_OPTION] ?? []) as readonly string[])]
  }
  return flags
}

/** What environment or file say; theirs are words, also where a flag is on or off. */
function settingOf(name: string, spec: OptionSpec, said: Settings): string | boolean | undefined {
  const word = said.flags[name]
  if (spec.type === 'string' || word === undefined) return word
  if (word === 'true' || word === 'false') return word === 'true'
  throw new UsageError(`the setting ${name} must be true or false, not "${word}"`)
}

function refuseUnknownFlags(specs: Record<string, OptionSpec>, argv: readonly string[]): void {
  for (const word of argv) {
    if (word === '--') return
    const name = /^--([^=]+)/.exec(word)?.[1]
    if (name === undefined) continue
    if (specs[name]?.isSecret === true) {
      throw new UsageError(
        `--${name} would show a secret to everyone on this machine; set ${environmentName(name)} or give --${name}-file`,
      )
    }
    if (Object.hasOwn(specs, name)) continue
    const nearest = nearestWord(name, Object.keys(specs))
    throw new UsageError(
      `unknown option --${name}${nearest === undefined ? '' : `; did you mean --${nearest}?`}`,
    )
  }
}

/** The text of `--help`. */
export function helpOf(command: Command): string {
  const all = Object.entries({ ...command.options, ...COMMON })
  const specs = all.filter(([, spec]) => spec.isSecret !== true)
  const left = specs.map(([name, spec]) => {
    const short = spec.short === undefined ? '' : `-${spec.short}, `
    return `  ${short}--${name}${spec.type === 'string' ? ` ${spec.value ?? 'VALUE'}` : ''}`
  })
  const width = Math.max(...left.map((text) => text.length)) + 2
  const lines = specs.map(([, spec], i) => {
    const fallback =
      spec.default === undefined || spec.default === false ? '' : ` (default ${spec.default})`
    return `${left[i]!.padEnd(width)}${spec.help}${fallback}`
  })
  const usage = `Usage: weir ${command.name}${command.usage === undefined ? '' : ` ${command.usage}`} [options]`
  const details = command.details === undefined ? '' : `\n\n${command.details}`
  return `${command.summary}\n\n${usage}\n\nOptions:\n${lines.join('\n')}${details}`
}

/** Reads flags with their types; wrong values are usage errors that name the flag. */
export class Flags {
  private readonly values: CommandInput['flags']

  constructor(values: CommandInput['flags']) {
    this.values = values
  }

  boolean(name: string): boolean {
    return this.values[name] === true
  }

  optional(name: string): string | undefined {
    const value = this.values[name]
    return typeof value === 'string' ? value : undefined
  }

  string(name: string): string {
    const value = this.optional(name)
    if (value === undefined) throw new UsageError(`--${name} is required`)
    return value
  }

  list(name: string): readonly string[] {
    const value = this.values[name]
    return Array.isArray(value) ? value : []
  }

  /** A whole number in `min <= n <= max`. */
  integer(name: string, min = 0, max: number = Number.MAX_SAFE_INTEGER): number {
    const value = this.number(name)
    if (!Number.isInteger(value) || value < min || value > max) {
      throw new UsageError(`--${name} must be a whole number from ${min} to ${max}, not ${value}`)
    }
    return value
  }

  number(name: string): number {
    const text = this.string(name)
    const value = Number(text)
    if (text.trim() === '' || !Number.isFinite(value)) {
      throw new UsageError(`--${name} must be a number, not "${text}"`)
    }
    return value
  }

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

/** The exit code for what a command threw: 2 for wrong usage, 130 for Ctrl-C, 1 otherwise. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof InterruptedError) return 130
  if (error instanceof UsageError) return 2
  if (
    error instanceof WeirError &&
    (error.code === 'UNKNOWN_OPTION' || error.code === 'INVALID_ARGUMENT')
  ) {
    return 2
  }
  return 1
}
