import { parseArgs } from 'node:util'
import { messageOf } from '../../core/errors.ts'
import { nearestWord } from '../../core/text/nearest-word.ts'
import { COMMON_OPTIONS, type Command, type CommandInput, type OptionSpec } from './command.ts'
import { environmentName, NO_SETTINGS, type Settings } from './settings.ts'
import { UsageError } from './usage-error.ts'

/** Name of the option that takes configuration keys. */
const KEYS_OPTION = 'set'

/**
 * Parses the words after the verb. A flag that is missing there is read from `settings`, then from
 * the option's default. Throws UsageError, for an unknown flag with the most similar one.
 */
export function parseCommandLine(
  command: Command,
  argv: readonly string[],
  settings: (configFlag: string | undefined) => Settings = () => NO_SETTINGS,
): Pick<CommandInput, 'flags' | 'args'> {
  const specs = { ...COMMON_OPTIONS, ...command.options }
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
    parsed = parseArgs({
      args: withNegativeNumbers(specs, argv),
      options,
      allowPositionals: true,
      strict: true,
    })
  } catch (error) {
    throw new UsageError(problemOf(error))
  }
  const given = parsed.values as CommandInput['flags']
  const config = given['config']
  const configured = settings(typeof config === 'string' ? config : undefined)
  return { flags: withDefaults(specs, given, configured), args: parsed.positionals }
}

/**
 * The words, in which a negative number after a flag is its value: `--retention-ms -1` is the same as
 * `--retention-ms=-1`, and `-p -3` as `-p-3`.
 */
function withNegativeNumbers(
  specs: Record<string, OptionSpec>,
  argv: readonly string[],
): readonly string[] {
  const shorts = Object.values(specs).flatMap((spec) => (spec.type === 'string' ? spec.short : []))
  const takesValue = (word: string): boolean =>
    word.startsWith('--') ? specs[word.slice(2)]?.type === 'string' : shorts.includes(word.slice(1))
  const words: string[] = []
  for (let i = 0; i < argv.length; i++) {
    const word = argv[i]!
    const next = argv[i + 1]
    if (word === '--') return [...words, ...argv.slice(i)]
    if (next !== undefined && /^-[0-9.]/.test(next) && word.startsWith('-') && takesValue(word)) {
      words.push(word.startsWith('--') ? `${word}=${next}` : `${word}${next}`)
      i += 1
    } else words.push(word)
  }
  return words
}

/** The problem of a command line that Node's parser refuses, in one line. */
function problemOf(error: unknown): string {
  const message = messageOf(error)
  const option = /'(?:-[^-], )?(--?[^ ',<]+)/.exec(message)?.[1] ?? ''
  if (message.startsWith('Unknown option')) return `unknown option ${option}`
  if (message.includes('does not take an argument')) return `${option} takes no value`
  return `${option} needs a value; write ${option}=VALUE if it starts with a dash`
}

/** The given flags, completed by settings and defaults. */
function withDefaults(
  specs: Record<string, OptionSpec>,
  given: CommandInput['flags'],
  settings: Settings,
): CommandInput['flags'] {
  const flags: Record<string, string | boolean | readonly string[] | undefined> = {}
  for (const [name, spec] of Object.entries(specs)) {
    flags[name] =
      given[name] ??
      settingOf(name, spec, settings) ??
      derivedOf(name, spec, settings) ??
      spec.default
  }
  if (Object.hasOwn(specs, KEYS_OPTION)) {
    const keys = Object.entries(settings.configuration).map(([key, value]) => `${key}=${value}`)
    flags[KEYS_OPTION] = [...keys, ...((given[KEYS_OPTION] ?? []) as readonly string[])]
  }
  return flags
}

/** Hosts on which a server listens on every address of its machine. */
const EVERY_ADDRESS = new Set(['0.0.0.0', '::'])

/** The address of the JobManager, where the keys with which one starts in this folder name its port. */
function derivedOf(
  name: string,
  spec: OptionSpec,
  { configuration }: Settings,
): string | undefined {
  // Without a default the flag means another thing where it is missing.
  if (spec.default === undefined) return undefined
  const port = /^[0-9]+/.exec(configuration['rest.port'] ?? '')?.[0]
  if (name !== 'jobmanager' || port === undefined || port === '0') return undefined
  const host = configuration['rest.bind-address'] ?? '127.0.0.1'
  const shown = EVERY_ADDRESS.has(host) ? '127.0.0.1' : host
  return `${shown.includes(':') ? `[${shown}]` : shown}:${port}`
}

/** The value of a flag in the environment or the file; there, `true` and `false` are words. */
function settingOf(
  name: string,
  spec: OptionSpec,
  settings: Settings,
): string | boolean | undefined {
  const word = settings.flags[name]
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
        `--${name} would show the secret to every user of this machine; set ${environmentName(name)} or use --${name}-file`,
      )
    }
    if (Object.hasOwn(specs, name)) continue
    const nearest = nearestWord(name, Object.keys(specs))
    throw new UsageError(
      `unknown option --${name}${nearest === undefined ? '' : `; did you mean --${nearest}?`}`,
    )
  }
}
