import { COMMON_OPTIONS, type Command, type OptionSpec, type PositionSpec } from './command.ts'

/** The text of `--help`. */
export function helpOf(command: Command): string {
  const all = Object.entries({ ...command.options, ...COMMON_OPTIONS })
  const specs = all.filter(([, spec]) => spec.isSecret !== true)
  const left = specs.map(([name, spec]) => {
    const short = spec.short === undefined ? '' : `-${spec.short}, `
    return `  ${short}--${name}${spec.type === 'string' ? ` ${spec.value.shown}` : ''}`
  })
  const width = Math.max(...left.map((text) => text.length)) + 2
  const lines = specs.map(([, spec], i) => {
    return `${left[i]!.padEnd(width)}${withNotes(spec)}`
  })
  const details = command.details === undefined ? '' : `\n\n${command.details}`
  return `${command.summary}\n\nUsage: ${usageOf(command)} [options]\n\nOptions:\n${lines.join('\n')}${details}`
}

/** The text of a flag, with what it takes and needs, and its default, in brackets. */
function withNotes(spec: OptionSpec): string {
  const { help } = spec
  const isRequired = spec.isRequired === true && !help.includes('required') ? 'required' : ''
  const notes = [isRequired, rangeOf(spec), needsOf(spec), defaultOf(spec)].filter(
    (note) => note !== '',
  )
  if (notes.length === 0) return help
  const text = notes.join('; ')
  return /\(default[^()]*\)$/.test(help) ? `${help.slice(0, -1)}; ${text})` : `${help} (${text})`
}

/** The range of the values, where the text of the flag does not say it. */
function rangeOf({ value, help, multiple }: OptionSpec): string {
  const { range = '', words = [] } = value ?? {}
  const areNamed = words.length > 0 && words.every((word) => help.includes(word))
  const isSaid = areNamed || help.includes(range)
  const repeated = multiple === true && !help.includes('repeatable') ? 'repeatable' : ''
  return [isSaid ? '' : range, repeated].filter((note) => note !== '').join('; ')
}

function needsOf({ needs = [], help }: OptionSpec): string {
  const texts = needs.map(({ flag, words }) =>
    words.length === 0 ? `--${flag}` : `--${flag} ${words.join(' or ')}`,
  )
  const unsaid = texts.filter((text) => !help.includes(text))
  return unsaid.length === 0 ? '' : `needs ${unsaid.join(' and ')}`
}

function defaultOf({ default: value }: OptionSpec): string {
  return value === undefined || value === '' ? '' : `default ${value}`
}

/** The usage of a command: its name, its positional arguments, and the flags that it needs. */
export function usageOf(command: Command): string {
  const { name, options, positions = [] } = command
  const flags = Object.entries(options).filter(([, { isRequired }]) => isRequired === true)
  const parts = [...positions.map(shownOf), ...flags.map(shownFlag)]
  const others = positions.flatMap(({ orFlags = [] }) =>
    orFlags.map((flag) => shownFlag([flag, options[flag]!])),
  )
  return [`weir ${name} ${parts.join(' ')}`.trimEnd(), ...others].join(' | ')
}

function shownOf({ value, isRepeated, isOptional }: PositionSpec): string {
  const shown = `${value.shown}${isRepeated === true ? '...' : ''}`
  return isOptional === true ? `[${shown}]` : shown
}

function shownFlag([name, { value }]: readonly [string, OptionSpec]): string {
  return value === undefined ? `--${name}` : `--${name} ${value.shown}`
}
