import { WeirError } from '../errors.ts'
import { nearestWord } from '../text/nearest-word.ts'
import {
  isBag,
  type OptionKind,
  oneOf,
  type Problem,
  type RequiredKind,
  refusal,
  required,
} from './kinds.ts'

/**
 * The kinds of all options of an interface, by name. The compiler refuses a shape that lacks an option, has one too
 * many, gives one another kind than its type, or lets a required one be left out.
 */
export type OptionShape<O> = {
  readonly [K in keyof O]-?: Partial<Pick<O, K>> extends Pick<O, K>
    ? OptionKind<Exclude<O[K], undefined>>
    : RequiredKind<O[K]>
}

/** The options of an interface that has an index signature besides: those with a name. */
export type NamedOptions<O> = { [K in keyof O as string extends K ? never : K]: O[K] }

/** A shape without the types of its options. */
type AnyShape = Readonly<Record<string, AnyKind>>
type AnyKind = Omit<OptionKind<never>, 'values'> & { readonly isRequired?: true }

/**
 * Throws INVALID_ARGUMENT unless the options are a plain object, or missing, whose names are all known and whose
 * values are of their kinds. An option that is undefined counts as left out. `call` is what got the options, as
 * messages name it: `new KafkaSink`, `client.get`.
 */
export function checkOptions<O>(call: string, shape: OptionShape<O>, given: unknown): void {
  const problem = problemOfBag('', shape as unknown as AnyShape, given === undefined ? {} : given)
  if (problem !== undefined) throw invalid(call, problem.sentence)
}

/** The options of an interface that can be left out, each with a value. */
export type OptionDefaults<O> = {
  readonly [K in keyof O as Partial<Pick<O, K>> extends Pick<O, K> ? K : never]-?: O[K]
}

/** The options with the defaults of those that are left out. An option that is undefined counts as left out. */
export function withDefaults<O extends object>(defaults: OptionDefaults<O>, given: O): Required<O> {
  const stated = Object.entries(given).filter(([, value]) => value !== undefined)
  return { ...defaults, ...Object.fromEntries(stated) } as unknown as Required<O>
}

/** Throws INVALID_ARGUMENT unless an argument of a call is of its kind. */
export function checkArgument<T>(
  call: string,
  argument: string,
  kind: OptionKind<T>,
  given: unknown,
): void {
  const problem = kind.problem(argument, given)
  if (problem !== undefined) throw invalid(call, problem.sentence)
}

/** An object of options within options. */
export function nested<O>(shape: OptionShape<O>): OptionKind<O> {
  const kinds = shape as unknown as AnyShape
  const takes = objectOf(kinds)
  return {
    takes,
    problem: (path, value) =>
      isBag(value) ? problemOfBag(`${path}.`, kinds, value) : refusal(path, takes, value),
  }
}

/** An object of one of several shapes: its option `tag` says which. */
export function variants<U extends Readonly<Record<T, string>>, T extends string>(
  tag: T,
  shapes: { readonly [V in U[T]]: OptionShape<Omit<Extract<U, Readonly<Record<T, V>>>, T>> },
): OptionKind<U> {
  const words = Object.keys(shapes)
  const tags = oneOf(...words)
  const takes = `an object with ${tag}: ${tags.takes}`
  const bags = words.map((word) => {
    const shape = (shapes as Readonly<Record<string, AnyShape>>)[word]!
    return [word, { [tag]: required(tags), ...shape } as unknown as AnyShape] as const
  })
  const byTag = new Map<unknown, AnyShape>(bags)
  const onlyTag = { [tag]: required(tags) } as unknown as AnyShape
  return {
    takes,
    problem(path, value) {
      if (!isBag(value)) return refusal(path, takes, value)
      const shape = byTag.get(value[tag])
      if (shape !== undefined) return problemOfBag(`${path}.`, shape, value)
      return problemOfBag(`${path}.`, onlyTag, { [tag]: value[tag] })
    },
  }
}

/** Most options that a message names where the object itself is wrong. */
const MOST_NAMES = 6

function objectOf(shape: AnyShape): string {
  const names = Object.keys(shape)
  const more = names.length > MOST_NAMES ? ', ...' : ''
  return `an object with ${names.slice(0, MOST_NAMES).join(', ')}${more}`
}

/** What is wrong with an object of options, whose names are shown after `prefix`. */
function problemOfBag(prefix: string, shape: AnyShape, given: unknown): Problem | undefined {
  if (!isBag(given)) return refusal('options', objectOf(shape), given)
  for (const name in given) {
    if (!Object.hasOwn(shape, name) && given[name] !== undefined) {
      return unknownName(prefix, name, Object.keys(shape))
    }
  }
  for (const name in shape) {
    const kind = shape[name]!
    const { [name]: value } = given
    if (value !== undefined) {
      const problem = kind.problem(prefix + name, value)
      if (problem !== undefined) return { ...problem, nearness: 3 }
    } else if (kind.isRequired === true) {
      return { sentence: `${prefix}${name} is missing: it must be ${kind.takes}`, nearness: 1 }
    }
  }
  return undefined
}

function unknownName(prefix: string, name: string, known: readonly string[]): Problem {
  const nearest = nearestWord(name, known)
  return {
    sentence: `there is no option "${prefix}${name}"${adviceOf(prefix, nearest, known)}`,
    nearness: nearest === undefined ? 1 : 2,
  }
}

function adviceOf(prefix: string, nearest: string | undefined, known: readonly string[]): string {
  if (nearest !== undefined) return `; did you mean "${prefix}${nearest}"?`
  return ` (options: ${known.map((one) => prefix + one).join(', ') || 'none'})`
}

function invalid(call: string, problem: string): WeirError {
  return new WeirError('INVALID_ARGUMENT', `${call}(...): ${problem}`)
}
