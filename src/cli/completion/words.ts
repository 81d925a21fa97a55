import { configurationKeys } from '../../runtime/configuration/keys.ts'
import { COMMON_OPTIONS, type Command, type OptionSpec } from '../command/command.ts'

/** A word that may come next on a command line. */
export interface CompletionWord {
  readonly word: string
  readonly help: string
}

/** A flag that may come next on a command line. */
export interface CompletionFlag extends CompletionWord {
  /** The letter of the flag; undefined without one. */
  readonly short?: string
  /** What the shell offers after the flag: nothing if it takes no value, files, topics, keys of the configuration, or no word. */
  readonly value: 'none' | 'file' | 'text' | 'topics' | 'keys'
}

/** What may follow the words of one command, or the first words of several. */
export interface CompletionPlace {
  /** Words so far, without `weir`; empty at the start. */
  readonly path: string
  readonly words: readonly CompletionWord[]
  readonly flags: readonly CompletionFlag[]
  /** What the first argument of the command names, where that can be looked up. */
  readonly argument?: 'jobs' | 'topics' | undefined
}

/** Every place on a command line where words of `weir` can be completed, the start first. */
export function completionPlaces(commands: readonly Command[]): readonly CompletionPlace[] {
  const paths = new Set(commands.flatMap(({ name }) => prefixesOf(name)))
  return [...paths].map((path) => {
    const command = commands.find(({ name }) => name === path)
    const place = { path, words: wordsAfter(path, commands), flags: flagsOf(command) }
    const argument = argumentOf(command)
    return argument === undefined ? place : { ...place, argument }
  })
}

/** `['', 'train', 'train als']` of `train als`. */
function prefixesOf(name: string): readonly string[] {
  const words = name.split(' ')
  return Array.from({ length: words.length + 1 }, (_, count) => words.slice(0, count).join(' '))
}

function wordsAfter(path: string, commands: readonly Command[]): readonly CompletionWord[] {
  const start = path === '' ? '' : `${path} `
  const helps = new Map<string, string>()
  for (const { name, summary } of commands) {
    if (!name.startsWith(start)) continue
    const [word, ...rest] = name.slice(start.length).split(' ')
    // A group has no summary; it lists its subcommands.
    const known = helps.get(word!)
    helps.set(
      word!,
      rest.length === 0 ? summary : (known ?? groupHelp(`${start}${word}`, commands)),
    )
  }
  return [...helps].map(([word, help]) => ({ word, help }))
}

function groupHelp(group: string, commands: readonly Command[]): string {
  const verbs = commands
    .filter(({ name }) => name.startsWith(`${group} `))
    .map(({ name }) => name.slice(group.length + 1).split(' ')[0]!)
  return [...new Set(verbs)].join(', ')
}

function flagsOf(command: Command | undefined): readonly CompletionFlag[] {
  if (command === undefined) return []
  return Object.entries({ ...command.options, ...COMMON_OPTIONS })
    .filter(([, spec]) => spec.isSecret !== true)
    .map(([name, spec]) => ({
      word: `--${name}`,
      help: spec.help,
      value: kindOf(spec),
      ...(spec.short === undefined ? {} : { short: spec.short }),
    }))
}

function kindOf({ value }: OptionSpec): CompletionFlag['value'] {
  if (value === undefined) return 'none'
  return value.names ?? (value.sort === 'path' ? 'file' : 'text')
}

/** By the first positional argument. */
function argumentOf(command: Command | undefined): CompletionPlace['argument'] {
  const kind = command?.positions?.[0]?.value
  if (kind?.shown === 'JOB') return 'jobs'
  return kind?.names === 'topics' ? 'topics' : undefined
}

/** The keys of the configuration, as after `-D`. */
export function configurationNames(): readonly string[] {
  return configurationKeys().map(({ key }) => key)
}
