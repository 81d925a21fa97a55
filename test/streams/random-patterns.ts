import { isWeirError } from '../../src/core/errors.ts'
import type { Random } from '../../src/core/random.ts'
import { Pattern } from '../../src/dataflow/cep/pattern.ts'
import { compilePattern } from '../../src/operators/cep/automaton.ts'
import type {
  NotTerm,
  PatternCondition,
  PatternSpec,
  PatternTerm,
} from '../../src/operators/cep/term.ts'
import type { TimedRecord } from './pattern-model.ts'

const LETTERS = ['a', 'b', 'c']
/** Records are a letter and a digit. */
const DIGITS = 3

/** A pattern of any stages, for a test that draws them. */
export type DrawnPattern = Pattern<string, object, string, readonly string[]>

const isLikely = (random: Random, share: number): boolean => random.next() < share
const oneOf = <V>(random: Random, values: readonly V[]): V => values[random.below(values.length)]!
const digitOf = (record: string): number => Number(record.at(-1))

/** A valid pattern at random. */
export function randomPattern(random: Random): DrawnPattern {
  for (;;) {
    try {
      const pattern = drawPattern(random)
      compilePattern(pattern.spec)
      return pattern
    } catch (error) {
      if (!isWeirError(error) || error.code !== 'INVALID_ARGUMENT') throw error
    }
  }
}

/** Records in the order of their times at random; some have the same time. */
export function randomRecords(random: Random, most = 9): readonly TimedRecord[] {
  let time = 1000
  return Array.from({ length: 1 + random.below(most) }, () => {
    time += random.below(3)
    return { record: `${oneOf(random, LETTERS)}${random.below(DIGITS)}`, time }
  })
}

function drawPattern(random: Random): DrawnPattern {
  const names = 'p q r s t u v w'.split(' ')
  let pattern = drawSequence(random, names, 1 + random.below(4), true)
  if (isLikely(random, 0.9)) pattern = pattern.within(2 + random.below(9))
  switch (random.below(10)) {
    case 0:
      return pattern.skipToNext()
    case 1:
      return pattern.skipPastLastEvent()
    case 2:
      return pattern.skipToFirst(oneOf(random, ['p', 'q', 'r']))
    case 3:
      return pattern.skipToLast(oneOf(random, ['p', 'q', 'r']))
    default:
      return pattern
  }
}

function drawSequence(
  random: Random,
  names: string[],
  length: number,
  hasGroups: boolean,
): DrawnPattern {
  let pattern: DrawnPattern | undefined
  for (let i = 0; i < length; i++) {
    if (hasGroups && isLikely(random, 0.12)) {
      const group = drawSequence(random, names, 1 + random.below(2), false)
      pattern = quantified(random, enter(random, pattern, group), true)
      continue
    }
    const name = names.shift()!
    if (pattern !== undefined && isLikely(random, 0.15)) {
      const not = isLikely(random, 0.5) ? pattern.notNext(name) : pattern.notFollowedBy(name)
      pattern = tested(random, not as DrawnPattern)
      continue
    }
    pattern = quantified(random, tested(random, enter(random, pattern, name)), false)
  }
  return pattern!
}

function enter(
  random: Random,
  pattern: DrawnPattern | undefined,
  stage: string | DrawnPattern,
): DrawnPattern {
  // One of the two forms of each method; the compiler asks for a choice.
  const given = stage as string
  if (pattern === undefined) return Pattern.of<string>().begin(given) as DrawnPattern
  const call = oneOf(random, ['next', 'followedBy', 'followedByAny'] as const)
  return pattern[call](given) as DrawnPattern
}

function tested(random: Random, pattern: DrawnPattern): DrawnPattern {
  let result = pattern.where(condition(random))
  if (isLikely(random, 0.15)) result = result.or(condition(random))
  if (isLikely(random, 0.1)) result = result.where(condition(random))
  return result
}

/** A condition on the letter, and sometimes on the records before it. */
function condition(random: Random): PatternCondition<string> {
  const letter = oneOf(random, LETTERS)
  const others = isLikely(random, 0.2) ? LETTERS.filter((each) => each !== letter) : [letter]
  const isOf = (record: string): boolean => others.includes(record[0]!)
  switch (random.below(8)) {
    case 0:
      return (record, match) =>
        isOf(record) && (match['p'] ?? []).every((before) => digitOf(before) <= digitOf(record))
    case 1:
      return (record, { p = [], q = [] }) => isOf(record) && (p.length + q.length) % 3 !== 2
    case 2:
      return (record) => isOf(record) && digitOf(record) > 0
    default:
      return isOf
  }
}

function quantified(random: Random, pattern: DrawnPattern, isGroup: boolean): DrawnPattern {
  let result: DrawnPattern = pattern
  const from = 1 + random.below(2)
  const isLoop = isLikely(random, 0.45)
  if (isLoop) {
    const kind = random.below(3)
    if (kind === 0) result = result.times(from, from + random.below(2) + (from === 1 ? 1 : 0))
    else if (kind === 1) result = result.timesOrMore(from)
    else result = result.oneOrMore()
    if (kind !== 0 && isLikely(random, 0.3)) result = result.until(condition(random))
    const inner = random.below(4)
    if (inner === 0) result = result.consecutive()
    if (inner === 1) result = result.allowCombinations()
    if (!isGroup && isLikely(random, 0.3)) result = result.greedy()
  }
  return isLikely(random, 0.2) ? result.optional() : result
}

/** A pattern as text, for a message. */
export function describePattern({ terms, withinMs, afterMatch }: PatternSpec<string>): string {
  return `${describeTerms(terms)} within ${withinMs} after ${JSON.stringify(afterMatch)}`
}

function describeTerms(terms: readonly PatternTerm<string>[]): string {
  return terms
    .map((term) => {
      if (term.kind === 'not') return `not ${term.contiguity} ${term.name}[${describeTests(term)}]`
      const { contiguity, from, to, optional, greedy, inner, until } = term
      const what =
        term.kind === 'group'
          ? `(${describeTerms(term.terms)})`
          : `${term.name}[${describeTests(term)}]`
      const marks = `${optional ? '?' : ''}${greedy ? ' greedy' : ''}${until ? ' until' : ''}`
      return `${contiguity} ${what}{${from},${to} ${inner}}${marks}`
    })
    .join(' ')
}

function describeTests({ tests }: Pick<NotTerm<string>, 'tests'>): string {
  const letters = 'abc'.split('').flatMap((letter) => [0, 1, 2].map((digit) => letter + digit))
  return tests
    .map(({ joins, condition }) => {
      const met = letters.filter((record) => condition(record, {}))
      return `${joins} ${met.join('')}`
    })
    .join(' ')
}

/** Records as text, for a message. */
export function describeRecords(records: readonly TimedRecord[]): string {
  return records.map(({ record, time }) => `${record}@${time}`).join(' ')
}
