import { describeValue } from '../text/describe-value.ts'
import { nearestOf } from '../text/nearest-word.ts'

/** What is wrong with a value of an option. */
export interface Problem {
  /** A sentence, with the path of the option, such as `ttl.ttlMs`. */
  readonly sentence: string
  /**
   * How much of the value is right: nothing; it is an object, but has a name too many; the name or the word is
   * nearly right; only what is in it is wrong. Among alternatives the nearest one gives the sentence.
   */
  readonly nearness: 0 | 1 | 2 | 3
}

/** A kind of values that an option or an argument can have: `T` in TypeScript. */
export interface OptionKind<T> {
  /** The values in words, as after "must be". */
  readonly takes: string
  /** What is wrong with a value; undefined where it is of the kind. */
  problem(path: string, value: unknown): Problem | undefined
  /** Only for the compiler: a kind with fewer values, or with more, is not assignable. */
  readonly values?: (value: T) => T
}

/** The kind of an option that cannot be left out. */
export interface RequiredKind<T> extends OptionKind<T> {
  readonly isRequired: true
}

/** Marks an option that cannot be left out. */
export function required<T>(kind: OptionKind<T>): RequiredKind<T> {
  return { ...kind, isRequired: true }
}

/** A kind by a test of one value. */
export function kindOf<T>(takes: string, accepts: (value: unknown) => boolean): OptionKind<T> {
  return {
    takes,
    problem: (path, value) => (accepts(value) ? undefined : refusal(path, takes, value)),
  }
}

/** The problem of a value of which nothing is right. */
export function refusal(path: string, takes: string, value: unknown): Problem {
  return { sentence: `${path} must be ${takes}, not ${describeValue(value)}`, nearness: 0 }
}

/** A text, which may be empty. */
export const text: OptionKind<string> = kindOf('a text', (value) => typeof value === 'string')

/** A text of at least one character: a name, a path, an address. */
export const name: OptionKind<string> = kindOf(
  'a text that is not empty',
  (value) => typeof value === 'string' && value !== '',
)

/** True or false. */
export const flag: OptionKind<boolean> = kindOf(
  'true or false',
  (value) => typeof value === 'boolean',
)

/** Bytes. */
export const bytes: OptionKind<Uint8Array> = kindOf(
  'bytes, a Uint8Array',
  (value) => value instanceof Uint8Array,
)

/** Bounds of a number. */
interface NumberRange {
  readonly min?: number
  readonly max?: number
  /** The number is larger than this. */
  readonly above?: number
  /** The number is smaller than this. */
  readonly below?: number
  /** Whether Infinity is taken, too, for no bound. @default false */
  readonly orInfinity?: boolean
}

/** A finite number in a range. */
export function numberIn(range: NumberRange = {}): OptionKind<number> {
  return kindOf(
    `a number${inWords(range)}`,
    (value) => (Number.isFinite(value) && isIn(value, range)) || isUnbounded(value, range),
  )
}

/** A whole number in a range. */
export function wholeNumber(range: NumberRange = {}): OptionKind<number> {
  return kindOf(
    `a whole number${inWords(range)}`,
    (value) => (Number.isSafeInteger(value) && isIn(value, range)) || isUnbounded(value, range),
  )
}

/** A number of things, at least one. */
export const count: OptionKind<number> = wholeNumber({ min: 1 })

/** A time in ms that may be 0, fractions too. */
export const milliseconds: OptionKind<number> = numberIn({ min: 0 })

/** A time in ms above 0, fractions too. */
export const positiveMilliseconds: OptionKind<number> = numberIn({ above: 0 })

function isIn(value: unknown, range: NumberRange): boolean {
  const { min = -Infinity, max = Infinity, above = -Infinity, below = Infinity } = range
  return typeof value === 'number' && value >= min && value <= max && value > above && value < below
}

function isUnbounded(value: unknown, { orInfinity = false }: NumberRange): boolean {
  return orInfinity && value === Number.POSITIVE_INFINITY
}

function inWords({ orInfinity = false, ...range }: NumberRange): string {
  return `${rangeInWords(range)}${orInfinity ? ', or Infinity' : ''}`
}

function rangeInWords({ min, max, above, below }: NumberRange): string {
  const lower = min === undefined ? (above === undefined ? '' : ` above ${above}`) : ` from ${min}`
  if (max !== undefined) return min === undefined ? `${lower} up to ${max}` : `${lower} to ${max}`
  if (below === undefined) return lower
  return lower === '' ? ` below ${below}` : `${lower} and below ${below}`
}

/** One value of a closed set. */
export function oneOf<const T extends string | number>(...values: readonly T[]): OptionKind<T> {
  const takes = alternatives(values.map((value) => JSON.stringify(value)))
  const set: ReadonlySet<unknown> = new Set(values)
  const texts = values.filter((value) => typeof value === 'string')
  return {
    takes,
    problem(path, value) {
      if (set.has(value)) return undefined
      const nearest = typeof value === 'string' ? nearestOf(value, texts) : undefined
      const problem = refusal(path, takes, value)
      if (nearest === undefined) return problem
      return { sentence: `${problem.sentence}; did you mean "${nearest}"?`, nearness: 2 }
    },
  }
}

/** A function. */
export function aFunction<F>(takes = 'a function'): OptionKind<F> {
  return kindOf(takes, (value) => typeof value === 'function')
}

/** A kind that may be left out. */
export function optional<T>(kind: OptionKind<T>): OptionKind<T | undefined> {
  return {
    takes: kind.takes,
    problem: (path, value) => (value === undefined ? undefined : kind.problem(path, value)),
  }
}

/** A number of subtasks or of key groups. */
export const parallelism: OptionKind<number> = wholeNumber({ min: 1, max: 32_768 })

/** An object that has these methods: an implementation of an interface. */
export function objectWith<T>(takes: string, ...methods: readonly string[]): OptionKind<T> {
  return kindOf(
    takes,
    (value) =>
      typeof value === 'object' &&
      value !== null &&
      !Array.isArray(value) &&
      methods.every((method) => typeof (value as Record<string, unknown>)[method] === 'function'),
  )
}

/** Any value, where another module checks it. */
export function anything<T>(): OptionKind<T> {
  return kindOf('a value', () => true)
}

/** An array whose elements are of one kind. */
export function listOf<T>(element: OptionKind<T>): OptionKind<readonly T[]> {
  const takes = `an array, each element ${element.takes}`
  return {
    takes,
    problem(path, value) {
      if (!Array.isArray(value)) return refusal(path, takes, value)
      // Lists of keys are long: no path is made for an element that is right.
      const wrong = value.findIndex((one) => element.problem(path, one) !== undefined)
      return wrong < 0 ? undefined : inside(element.problem(`${path}[${wrong}]`, value[wrong]))
    },
  }
}

/** An object with values of one kind under any names, or under those that match. */
export function recordOf<T, K extends string | number = string>(
  element: OptionKind<T>,
  names = /^/,
): OptionKind<Readonly<Record<K, T>>> {
  const takes = `an object, each value ${element.takes}`
  return {
    takes,
    problem(path, value) {
      if (!isBag(value)) return refusal(path, takes, value)
      for (const [key, one] of Object.entries(value)) {
        const problem = names.test(key)
          ? element.problem(`${path}.${key}`, one)
          : refusal(`a name in ${path}`, `like ${names.source}`, key)
        if (problem !== undefined) return inside(problem)
      }
      return undefined
    },
  }
}

function inside(problem: Problem | undefined): Problem | undefined {
  return problem && { ...problem, nearness: 3 }
}

/** Whether a value is an object as a literal makes it: no array, function, date, map or typed array. */
export function isBag(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  if (Object.getPrototypeOf(value) === Object.prototype) return true
  return Object.prototype.toString.call(value) === '[object Object]'
}

/** A value of the first kind or of the second. */
export function either<A, B>(first: OptionKind<A>, second: OptionKind<B>): OptionKind<A | B> {
  const takes = `${first.takes}, or ${second.takes}`
  return {
    takes,
    problem(path, value) {
      const a = first.problem(path, value)
      const b = a && second.problem(path, value)
      if (a === undefined || b === undefined) return undefined
      if (a.nearness === 0 && b.nearness === 0) return refusal(path, takes, value)
      if (a.nearness === 1 && b.nearness === 1) {
        return { sentence: `${a.sentence}; or ${b.sentence}`, nearness: 1 }
      }
      return b.nearness > a.nearness ? b : a
    },
  }
}

function alternatives(words: readonly string[]): string {
  if (words.length < 2) return words.join()
  return `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}
