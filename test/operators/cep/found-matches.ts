import type { AnyPattern } from '../../../src/dataflow/cep/pattern.ts'
import { compilePattern } from '../../../src/operators/cep/automaton.ts'
import { Matcher, type MatcherOptions } from '../../../src/operators/cep/matcher.ts'
import { type KeyMatches, recordsByStage } from '../../../src/operators/cep/partial-match.ts'

/** What a matcher gave, each match as its records in their order: `a b1 b2`. */
export interface Found {
  readonly matches: string[]
  readonly timedOut: string[]
  dropped: number
}

/** A matcher of letters with numbers, and what it has found. */
export class LetterMatcher {
  readonly found: Found = { matches: [], timedOut: [], dropped: 0 }
  readonly matches: KeyMatches<string> = {
    partial: [],
    complete: [],
    nextId: 0,
    timer: undefined,
    stored: [],
  }
  readonly matcher: Matcher<string>

  constructor(pattern: AnyPattern<string>, options: Partial<MatcherOptions> = {}) {
    const automaton = compilePattern(pattern.spec)
    const { found } = this
    const wordsOf = (last: Parameters<typeof recordsByStage<string>>[0]): string =>
      Object.values(recordsByStage(last, automaton.stages)).flat().join(' ')
    this.matcher = new Matcher<string>(
      automaton,
      { maxPartialMatches: 10_000, whenFull: 'fail', ...options },
      {
        matched: (last) => found.matches.push(wordsOf(last)),
        timedOut: (last) => found.timedOut.push(wordsOf(last)),
        dropped: (count) => {
          found.dropped += count
        },
      },
    )
  }

  /** Takes records, separated by spaces, one in each ms from `from` on. */
  take(records: string, from = 0): this {
    records.split(' ').forEach((record, i) => {
      this.matcher.advanceTime(this.matches, from + i)
      this.matcher.advance(this.matches, record, from + i)
    })
    return this
  }

  /** Lets the time go on without a record. */
  advanceTime(time: number): this {
    this.matcher.advanceTime(this.matches, time)
    return this
  }
}

/** The matches of a pattern in records that are separated by spaces, one in each ms, until the time of all is over. */
export function matchesIn(pattern: AnyPattern<string>, records: string): readonly string[] {
  return new LetterMatcher(pattern).take(records).advanceTime(1_000_000).found.matches
}

/** Whether a record begins with a letter. */
export const is =
  (letter: string) =>
  (record: string): boolean =>
    record.startsWith(letter)
