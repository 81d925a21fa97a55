import { parseArgs } from 'node:util'
import { nearestWord } from '../../core/text/nearest-word.ts'
import {
  checkSettings,
  checkTogether,
  checkTyped,
  type GivenFlags,
  type GivenValue,
} from './check-flags.ts'
import { COMMON_OPTIONS, type Command, type CommandInput, type OptionSpec } from './command.ts'
import { environmentName, NO_SETTINGS, type Settings } from './settings.ts'
import { UsageError } from './usage-error.ts'

/** Name of the option that takes configuration keys. */
const KEYS_OPTION = 'set'
/** What turns a switch off: `--no-json`. */
const NEGATION = 'no-'

type Specs = Readonly<Record<string, OptionSpec>>
type Values = Record<string, string | boolean | readonly string[] | undefined>

/**
 * Parses the words after the verb, and checks every value. A flag that is missing there is read from `settings`, then from
 * the option's default. Throws UsageError, for an unknown flag with the most similar one.
 */
export function parseCommandLine(
  command: Command,
  argv: readonly string[],
  settings: (configFlag: string | undefined) => Settings = () => NO_SETTINGS,
): Pick<CommandInput, 'flags' | 'args'> {
  const specs: Specs = { ...COMMON_OPTIONS, ...command.options }
  const { args, given: typed } = readWords(specs, argv)
  checkTyped(specs, typed)
  const given = withParts(specs, typed)
  const config = given.get('config')?.[0]?.value
  const configured = settings(typeof config === 'string' ? config : undefined)
  const set = settingsOf(specs, configured)
  checkSettings(specs, set)
  const flags = withDefaults(specs, { given, set, configured })
  checkTogether(specs, given, flags)
  return { flags, args }
}

type GivenByName = Map<string, GivenValue[]>

/** The flags and the positional arguments of a command line. Throws UsageError. */
function readWords(
  specs: Specs,
  argv: readonly string[],
): { readonly args: readonly string[]; readonly given: GivenByName } {
  const options = Object.fromEntries(
    Object.entries(specs).map(([name, { type, short }]) => [
      name,
      { type, multiple: true, ...(short === undefined ? {} : { short }) },
    ]),
  )
  // Not strict: the errors of Node name neither the nearest flag nor what to write.
  const { tokens } = parseArgs({ args: [...argv], options, strict: false, tokens: true })
  const args: string[] = []
  const given: GivenByName = new Map()
  for (const token of tokens) {
    if (token.kind === 'positional') args.push(token.value)
    if (token.kind !== 'option') continue
    const { name, value } = givenBy(specs, token)
    given.set(name, [...(given.get(name) ?? []), { source: `--${name}`, value }])
  }
  return { args, given }
}

/**
 * The flags of a command line with the parts of an address in its place: one that is not typed leaves those of the
 * settings. Throws UsageError where a part is typed, too.
 */
function withParts(specs: Specs, typed: GivenFlags): GivenByName {
  const all: GivenByName = new Map([...typed].map(([name, given]) => [name, [...given]]))
  for (const [name, [first]] of typed) {
    const parts = specs[name]?.parts?.(String(first?.value))
    if (first === undefined || parts === undefined) continue
    all.delete(name)
    for (const [part, value] of Object.entries(parts)) {
      const before = all.get(part) ?? []
      if (before[0] !== undefined && specs[part]?.multiple !== true) {
        throw new UsageError(
          `${first.source} and ${before[0].source} exclude each other; leave one out`,
        )
      }
      const own = [value].flat().map((text) => ({ source: first.source, value: text }))
      all.set(part, [...before, ...own])
    }
  }
  checkTyped(specs, all)
  return all
}

interface OptionToken {
  readonly name: string
  readonly rawName: string
  readonly value: string | undefined
  readonly inlineValue: boolean | undefined
}

/** The flag that a word gives, and its value. Throws UsageError. */
function givenBy(
  specs: Specs,
  token: OptionToken,
): { readonly name: string; readonly value: string | boolean } {
  const { rawName, value } = token
  const { name, isNegated } = flagNamed(specs, token)
  const spec = specs[name]!
  if (spec.type === 'boolean') {
    if (value === undefined) return { name, value: !isNegated }
    const opposite = isNegated ? `--${name}` : negationOf(specs, name)
    throw new UsageError(`${rawName} takes no value; write ${opposite} for the opposite`)
  }
  if (spec.isSecret === true) {
    throw new UsageError(
      `--${name} would show the secret to every user of this machine; set ${environmentName(name)} or use --${name}-file`,
    )
  }
  // A word with a dash is the next flag, but for a number.
  const isFlag = token.inlineValue === false && /^-[^0-9.]/.test(value ?? '')
  if (value !== undefined && !isFlag) return { name, value }
  throw new UsageError(`${rawName} needs a value; write ${rawName}=VALUE if it starts with a dash`)
}

/** The flag of a word: its own, or the switch that `--no-` before it turns off. Throws UsageError. */
function flagNamed(
  specs: Specs,
  { name, rawName }: OptionToken,
): { readonly name: string; readonly isNegated: boolean } {
  if (Object.hasOwn(specs, name)) return { name, isNegated: false }
  const positive = name.startsWith(NEGATION) ? name.slice(NEGATION.length) : `${NEGATION}${name}`
  const opposite = Object.hasOwn(specs, positive) ? specs[positive] : undefined
  if (opposite?.type === 'boolean') return { name: positive, isNegated: true }
  const isLong = rawName.startsWith('--')
  const nearest = isLong ? nearestWord(name, Object.keys(specs)) : undefined
  const hint = nearest === undefined ? '' : `; did you mean --${nearest}?`
  throw new UsageError(`unknown option ${rawName}${hint}`)
}

/** The word for the opposite of a switch. */
function negationOf(specs: Specs, name: string): string {
  if (name.startsWith(NEGATION)) return `--${name.slice(NEGATION.length)}`
  return Object.hasOwn(specs, `${NEGATION}${name}`) ? `--${NEGATION}${name}` : `--no-${name}`
}

/** The values of the flags in the environment and the file; there, `true` and `false` are words. */
function settingsOf(specs: Specs, settings: Settings): GivenByName {
  const set: GivenByName = new Map()
  for (const [name, spec] of Object.entries(specs)) {
    const text = settings.flags[name]
    if (text === undefined) continue
    const source = settings.sources[name] ?? name
    if (spec.type === 'string') set.set(name, [{ source, value: text }])
    else if (text === 'true' || text === 'false') {
      set.set(name, [{ source, value: text === 'true' }])
    } else throw new UsageError(`${source} must be true or false, not "${text}"`)
  }
  if (Object.hasOwn(specs, KEYS_OPTION)) {
    const keys = Object.entries(settings.configuration)
    const values = keys.map(([key, value]) => {
      return { source: settings.sources[key] ?? key, value: `${key}=${value}` }
    })
    if (values.length > 0) set.set(KEYS_OPTION, values)
  }
  return set
}

interface Sources {
  readonly given: GivenByName
  readonly set: GivenByName
  readonly configured: Settings
}

/** The given flags, completed by settings and defaults; repeatable ones have the values of both, settings first. */
function withDefaults(specs: Specs, { given, set, configured }: Sources): CommandInput['flags'] {
  const flags: Values = {}
  for (const [name, spec] of Object.entries(specs)) {
    const typed = given.get(name)
    if (spec.type === 'string' && spec.multiple === true) {
      const all = [...(set.get(name) ?? []), ...(typed ?? [])].map(({ value }) => String(value))
      flags[name] = all.length === 0 ? undefined : all
      continue
    }
    flags[name] =
      typed?.[0]?.value ?? set.get(name)?.[0]?.value ?? defaultOf(name, spec, configured)
  }
  return flags
}

function defaultOf(name: string, spec: OptionSpec, settings: Settings): string | undefined {
  // Without a default the flag means another thing where it is missing.
  if (spec.type === 'boolean' || spec.default === undefined) return undefined
  return (name === 'jobmanager' ? jobManagerOf(settings) : undefined) ?? spec.default
}

/** Hosts on which a server listens on every address of its machine. */
const EVERY_ADDRESS = new Set(['0.0.0.0', '::'])

/** The address of the JobManager, where the keys with which one starts in this folder name its port. */
function jobManagerOf({ configuration }: Settings): string | undefined {
  const port = /^[0-9]+/.exec(configuration['rest.port'] ?? '')?.[0]
  if (port === undefined || port === '0') return undefined
  const host = configuration['rest.bind-address'] ?? '127.0.0.1'
  const shown = EVERY_ADDRESS.has(host) ? '127.0.0.1' : host
  return `${shown.includes(':') ? `[${shown}]` : shown}:${port}`
}
