import { expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { compilePattern } from '../../../src/operators/cep/automaton.ts'
import { Matcher } from '../../../src/operators/cep/matcher.ts'
import type { KeyMatches, MatchNode } from '../../../src/operators/cep/partial-match.ts'
import type { PatternSpec } from '../../../src/operators/cep/term.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { matchesOf, type TimedRecord } from '../../streams/pattern-model.ts'
import {
  describePattern,
  describeRecords,
  randomPattern,
  randomRecords,
} from '../../streams/random-patterns.ts'

const CASES = 10_000

/** Runs a matcher over records that carry their places. */
function run(spec: PatternSpec<string>, records: readonly TimedRecord[]) {
  const matches: string[] = []
  const timedOut: string[] = []
  const places = new Map<number, number>()
  const wordsOf = (last: MatchNode<string>): string => {
    const words: string[] = []
    for (let node: MatchNode<string> | undefined = last; node; node = node.previous) {
      const { event, position } = node
      words.unshift(`${position.stage}:${places.get(event.id)}=${event.value}`)
    }
    return words.join(' ')
  }
  const matcher = new Matcher(
    compilePattern(spec),
    { maxPartialMatches: 100_000, whenFull: 'fail' },
    {
      matched: (last) => matches.push(wordsOf(last)),
      timedOut: (last) => timedOut.push(wordsOf(last)),
      dropped: () => {},
    },
  )
  const key: KeyMatches<string> = {
    partial: [],
    complete: [],
    nextId: 0,
    timer: undefined,
    stored: [],
  }
  records.forEach(({ record, time }, at) => {
    matcher.advanceTime(key, time)
    places.set(key.nextId, at)
    matcher.advance(key, record, time)
  })
  matcher.advanceTime(key, 1_000_000)
  return { matches, timedOut, key }
}

const hasGroup = (spec: PatternSpec<string>): boolean =>
  spec.terms.some(({ kind }) => kind === 'group')

/** What a pattern gave, in an order of its own. A loop within a loop of a group can give the same records in two ways. */
function comparable(spec: PatternSpec<string>, words: readonly string[]): readonly string[] {
  const distinct = hasGroup(spec) ? [...new Set(words)] : [...words]
  return spec.afterMatch.kind === 'none' ? distinct.sort() : distinct
}

it(`${CASES} patterns at random give what trying each record for each stage gives`, () => {
  const seed = commitSeed()
  let found = 0
  for (let i = 0; i < CASES; i++) {
    const caseSeed = seed * 1_000_003 + i
    const random = seededRandom(caseSeed)
    const { spec } = randomPattern(random)
    const records = randomRecords(random)
    const { matches, timedOut, key } = run(spec, records)
    const expected = matchesOf(spec, records)
    const about = `seed ${caseSeed}: ${describePattern(spec)} in ${describeRecords(records)}`
    // Without an end, matches may wait for one that started before them.
    if (spec.withinMs !== undefined || spec.afterMatch.kind === 'none') {
      expect(comparable(spec, matches).join('\n'), about).toEqual(
        comparable(spec, expected.matches).join('\n'),
      )
    }
    if (spec.withinMs !== undefined) {
      expect(key.partial, about).toEqual([])
      if (expected.timedOut !== undefined) {
        const whole = new Set(hasGroup(spec) ? matches : [])
        const partial = timedOut.filter((words) => !whole.has(words))
        expect(comparable(spec, partial), about).toEqual(comparable(spec, expected.timedOut))
      }
    }
    found += matches.length
  }
  // A generator whose patterns find nothing would prove nothing.
  expect(found).toBeGreaterThan(CASES / 4)
}, 300_000)
