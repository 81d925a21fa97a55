import type { FlagKind } from '../flag-kinds/flag-kind.ts'
import { splitPair } from '../flag-kinds/pairs.ts'
import {
  type Command,
  type CommandInput,
  type FlagNeed,
  isMet,
  isSet,
  type OptionSpec,
  type PositionSpec,
  type ValueSpec,
} from './command.ts'
import { usageOf } from './help.ts'
import { UsageError } from './usage-error.ts'

/** A value of a flag, and what gave it, as messages name it: `--port`, `WEIR_PORT`, `port in weir.yaml`. */
export interface GivenValue {
  readonly source: string
  readonly value: string | boolean
}

/** The values that were given for flags, by name. */
export type GivenFlags = ReadonlyMap<string, readonly GivenValue[]>

type Specs = Readonly<Record<string, OptionSpec>>

/** Checks how often each flag is on a command line, and its values. Throws UsageError. */
export function checkTyped(specs: Specs, commandLine: GivenFlags): void {
  for (const [name, given] of commandLine) {
    requireOnce(specs[name]!, given)
    for (const one of given) checkValue(specs[name]!, one)
  }
}

/** Checks the values that settings give to flags. Throws UsageError. */
export function checkSettings(specs: Specs, settings: GivenFlags): void {
  for (const [name, given] of settings) for (const one of given) checkValue(specs[name]!, one)
}

/** Throws UsageError unless the required flags are there, and the files that flags name are as the command needs them. */
export function requireFlags(specs: Specs, flags: CommandInput['flags']): void {
  for (const [name, { isRequired, value: kind, default: fallback }] of Object.entries(specs)) {
    const value = flags[name]
    if (isRequired === true && !isSet(value)) {
      throw new UsageError(`--${name} ${kind.shown} is required`)
    }
    for (const text of [value].flat()) {
      if (typeof text !== 'string' || text === fallback) continue
      const problem = kind?.problemHere?.(text)
      if (problem !== undefined) throw new UsageError(`--${name} ${problem}`)
    }
  }
}

/**
 * Checks that the values of a repeatable flag go together, and what each flag of the
 * command line needs and excludes. `flags` has all values, with the defaults. Throws UsageError.
 */
export function checkTogether(
  specs: Specs,
  commandLine: GivenFlags,
  flags: CommandInput['flags'],
): void {
  for (const [name, spec] of Object.entries(specs)) {
    const values = flags[name]
    const problem = Array.isArray(values) ? spec.value?.problemTogether?.(values) : undefined
    if (problem !== undefined) throw new UsageError(`--${name} ${problem}`)
  }
  for (const name of commandLine.keys()) checkRelations(name, { specs, flags, commandLine })
}

function requireOnce(spec: OptionSpec, given: readonly GivenValue[]): void {
  const [first, ...more] = given
  if (first === undefined || more.length === 0) return
  if (spec.type === 'string' && spec.multiple === true) requireKeysOnce(spec, given)
  else {
    const values = spec.type === 'string' ? `: ${given.map(({ value }) => value).join(', ')}` : ''
    throw new UsageError(`${first.source} was given twice${values}`)
  }
}

/** A key may come once, because the last value would hide the others. */
function requireKeysOnce({ value: { sort } }: ValueSpec, given: readonly GivenValue[]): void {
  if (sort !== 'pair') return
  const pairs = new Map<string, string>()
  for (const { source, value } of given) {
    const [key, text] = splitPair(String(value))
    const before = pairs.get(key)
    if (before !== undefined) {
      throw new UsageError(`${source} was given twice for ${key}: ${before}, ${text}`)
    }
    pairs.set(key, text)
  }
}

function checkValue(spec: OptionSpec, { source, value }: GivenValue): void {
  if (spec.type === 'boolean') return
  const problem = spec.value.problem(String(value))
  if (problem !== undefined) throw new UsageError(`${source} ${problem}`)
}

interface Relations {
  readonly specs: Specs
  readonly flags: CommandInput['flags']
  readonly commandLine: GivenFlags
}

function checkRelations(name: string, { specs, flags, commandLine }: Relations): void {
  const { needs = [], excludes = [] } = specs[name]!
  if (!isSet(flags[name])) return
  for (const need of needs) {
    const source = commandLine.get(name)?.[0]?.source ?? `--${name}`
    if (!isMet(need, flags)) throw new UsageError(`${source} needs ${needText(need, specs)}`)
  }
  for (const other of excludes) {
    if (commandLine.has(other) && isSet(flags[other])) {
      throw new UsageError(`--${name} and --${other} exclude each other; leave one out`)
    }
  }
}

function needText({ flag, words }: FlagNeed, specs: Specs): string {
  if (words.length > 0) return `--${flag} ${words.join(' or ')}`
  const spec = specs[flag]
  if (spec?.value?.words !== undefined) return `--${flag}: ${spec.value.words.join(', ')}`
  return spec?.type === 'string' ? `--${flag} ${spec.value.shown}` : `--${flag}`
}

type Given = Pick<CommandInput, 'args' | 'flags'>

/** Checks number and texts of the positional arguments. Throws UsageError. */
export function checkPositions(command: Command, { args, flags }: Given): void {
  const { positions = [] } = command
  const last = positions.at(-1)
  if (args.length > positions.length && last?.isRepeated !== true) {
    const extra = args[positions.length]
    throw new UsageError(`unexpected argument "${extra}". Usage: ${usageOf(command)}`)
  }
  for (const [i, position] of positions.entries()) {
    const own = position.isRepeated === true ? args.slice(i) : args.slice(i, i + 1)
    requireGiven(command, position, { isGiven: own.length > 0, flags })
    const kind = kindIn(position, flags)
    for (const text of own) refuse(kind, kind.problem(text))
  }
}

/** Throws UsageError unless the files that positional arguments name are as the command needs them. */
export function requireHere(command: Command, { args, flags }: Given): void {
  const { positions = [] } = command
  for (const [i, text] of args.entries()) {
    const kind = kindIn(positions[Math.min(i, positions.length - 1)]!, flags)
    refuse(kind, kind.problemHere?.(text))
  }
}

function requireGiven(
  command: Command,
  { isOptional, orFlags }: PositionSpec,
  { isGiven, flags }: { readonly isGiven: boolean; readonly flags: CommandInput['flags'] },
): void {
  const also = (orFlags ?? []).filter((flag) => isSet(flags[flag]))
  const count = Number(isGiven) + also.length
  if (orFlags === undefined ? isGiven || isOptional === true : count === 1) return
  if (count === 0) throw new UsageError(`missing arguments. Usage: ${usageOf(command)}`)
  throw new UsageError(`give one of these, not ${count}. Usage: ${usageOf(command)}`)
}

/** The kind of an argument beside the flags that were given. */
function kindIn({ value, beside = {} }: PositionSpec, flags: CommandInput['flags']): FlagKind {
  const found = Object.entries(beside).find(([flag]) => isSet(flags[flag]))
  return found?.[1] ?? value
}

function refuse({ shown }: FlagKind, problem: string | undefined): void {
  if (problem !== undefined) throw new UsageError(`${shown} ${problem}`)
}
