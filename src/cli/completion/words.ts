import { COMMON_OPTIONS, type Command, type OptionSpec } from '../command/command.ts'

/** A word that may come next on a command line. */
export interface CompletionWord {
  readonly word: string
  readonly help: string
}

/** A flag that may come next on a command line. */
export interface CompletionFlag extends CompletionWord {
  /** What the shell offers after the flag: nothing if it takes no value, else files or no word. */
  readonly value: 'none' | 'file' | 'text'
}

/** What may follow the words of one command, or the first words of several. */
export interface CompletionPlace {
  /** Words so far, without `weir`; empty at the start. */
  readonly path: string
  readonly words: readonly CompletionWord[]
  readonly flags: readonly CompletionFlag[]
}

/** Every place on a command line where words of `weir` can be completed, the start first. */
export function completionPlaces(commands: readonly Command[]): readonly CompletionPlace[] {
  const paths = new Set(commands.flatMap(({ name }) => prefixesOf(name)))
  return [...paths].map((path) => {
    const command = commands.find(({ name }) => name === path)
    return { path, words: wordsAfter(path, commands), flags: flagsOf(command) }
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
    .map(([name, spec]) => ({ word: `--${name}`, help: spec.help, value: kindOf(spec) }))
}

function kindOf({ value }: OptionSpec): CompletionFlag['value'] {
  if (value === undefined) return 'none'
  return value.sort === 'path' ? 'file' : 'text'
}
