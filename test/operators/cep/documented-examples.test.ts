import { describe, expect, it } from 'vitest'
import { Pattern } from '../../../src/dataflow/cep/pattern.ts'
import { is, LetterMatcher, matchesIn } from './found-matches.ts'

// Patterns, records and results are those of Flink's documentation, "FlinkCEP - Complex event processing for Flink".

const begin = Pattern.of<string>().begin
const sorted = (...matches: readonly string[]): readonly string[] => [...matches].sort()

describe('contiguity between stages, in "a c b1 b2"', () => {
  const RECORDS = 'a c b1 b2'
  const a = begin('a').where(is('a'))

  it('as next finds no match', () => {
    expect(matchesIn(a.next('b').where(is('b')), RECORDS)).toEqual([])
  })

  it('as followedBy finds the first b', () => {
    expect(matchesIn(a.followedBy('b').where(is('b')), RECORDS)).toEqual(['a b1'])
  })

  it('as followedByAny finds each b', () => {
    expect(matchesIn(a.followedByAny('b').where(is('b')), RECORDS)).toEqual(['a b1', 'a b2'])
  })
})

describe('contiguity within a loop, in "a b1 d1 b2 d2 b3 c"', () => {
  const RECORDS = 'a b1 d1 b2 d2 b3 c'
  const loop = begin('a').where(is('a')).followedByAny('b').where(is('b')).oneOrMore()

  it('is strict with consecutive', () => {
    const pattern = loop.consecutive().next('c').where(is('c')).within(100)
    expect(matchesIn(pattern, RECORDS)).toEqual(['a b3 c'])
  })

  it('is relaxed as such', () => {
    const pattern = loop.followedBy('c').where(is('c')).within(100)
    expect(sorted(...matchesIn(pattern, RECORDS))).toEqual(
      sorted('a b1 c', 'a b1 b2 c', 'a b1 b2 b3 c', 'a b2 c', 'a b2 b3 c', 'a b3 c'),
    )
  })

  it('is relaxed without an order with allowCombinations', () => {
    const pattern = loop.allowCombinations().followedBy('c').where(is('c')).within(100)
    expect(sorted(...matchesIn(pattern, RECORDS))).toEqual(
      sorted('a b1 c', 'a b1 b2 c', 'a b1 b3 c', 'a b1 b2 b3 c', 'a b2 c', 'a b2 b3 c', 'a b3 c'),
    )
  })
})

describe('a loop between two stages, in "c d a1 a2 a3 d a4 b"', () => {
  const RECORDS = 'c d a1 a2 a3 d a4 b'
  const start = begin('start').where(is('c'))
  const end = 'end1'

  it('ends at the first other record with consecutive', () => {
    const loop = start.followedBy('middle').where(is('a')).oneOrMore().consecutive()
    const pattern = loop.followedBy(end).where(is('b')).within(100)
    expect(sorted(...matchesIn(pattern, RECORDS))).toEqual(
      sorted('c a1 b', 'c a1 a2 b', 'c a1 a2 a3 b'),
    )
  })

  it('passes over other records as such', () => {
    const loop = start.followedBy('middle').where(is('a')).oneOrMore()
    const pattern = loop.followedBy(end).where(is('b')).within(100)
    expect(sorted(...matchesIn(pattern, RECORDS))).toEqual(
      sorted('c a1 b', 'c a1 a2 b', 'c a1 a2 a3 b', 'c a1 a2 a3 a4 b'),
    )
  })

  it('takes each selection with allowCombinations', () => {
    // The documentation writes followedBy here, but lists loops that begin with a2, a3 and a4, which is what followedByAny means.
    const loop = start.followedByAny('middle').where(is('a')).oneOrMore().allowCombinations()
    const pattern = loop.followedBy(end).where(is('b')).within(100)
    expect(sorted(...matchesIn(pattern, RECORDS))).toEqual(
      sorted(
        ...['c a1 b', 'c a1 a2 b', 'c a1 a3 b', 'c a1 a4 b', 'c a1 a2 a3 b', 'c a1 a2 a4 b'],
        ...['c a1 a3 a4 b', 'c a1 a2 a3 a4 b', 'c a2 b', 'c a2 a3 b', 'c a2 a4 b'],
        ...['c a2 a3 a4 b', 'c a3 b', 'c a3 a4 b', 'c a4 b'],
      ),
    )
  })
})

it('a loop with a stop condition, "a+ until b" in "a1 c a2 b a3", ends at b', () => {
  const pattern = begin('a').where(is('a')).oneOrMore().until(is('b'))
  expect(sorted(...matchesIn(pattern, 'a1 c a2 b a3'))).toEqual(sorted('a1 a2', 'a1', 'a2', 'a3'))
})

describe('after a match of "b+ c" in "b1 b2 b3 c"', () => {
  const RECORDS = 'b1 b2 b3 c'
  const pattern = begin('b').where(is('b')).oneOrMore().next('c').where(is('c')).within(100)

  it('noSkip keeps all others', () => {
    expect(matchesIn(pattern.noSkip(), RECORDS)).toEqual(['b1 b2 b3 c', 'b2 b3 c', 'b3 c'])
  })

  it('skipToNext drops those that start with the same record', () => {
    expect(matchesIn(pattern.skipToNext(), RECORDS)).toEqual(['b1 b2 b3 c', 'b2 b3 c', 'b3 c'])
  })

  it('skipPastLastEvent drops those that started before its end', () => {
    expect(matchesIn(pattern.skipPastLastEvent(), RECORDS)).toEqual(['b1 b2 b3 c'])
  })

  it('skipToFirst drops those that started before its first b', () => {
    expect(matchesIn(pattern.skipToFirst('b'), RECORDS)).toEqual(['b1 b2 b3 c', 'b2 b3 c', 'b3 c'])
  })

  it('skipToLast drops those that started before its last b', () => {
    expect(matchesIn(pattern.skipToLast('b'), RECORDS)).toEqual(['b1 b2 b3 c', 'b3 c'])
  })
})

describe('after a match of "(a | b | c) (b | c) c+ d" with a greedy loop, in "a b c1 c2 c3 d"', () => {
  const RECORDS = 'a b c1 c2 c3 d'
  const pattern = begin('first')
    .where(is('a'))
    .or(is('b'))
    .or(is('c'))
    .next('second')
    .where(is('b'))
    .or(is('c'))
    .followedBy('c')
    .where(is('c'))
    .oneOrMore()
    .greedy()
    .followedBy('d')
    .where(is('d'))
    .within(100)

  it('noSkip keeps all others', () => {
    expect(matchesIn(pattern, RECORDS)).toEqual(['a b c1 c2 c3 d', 'b c1 c2 c3 d', 'c1 c2 c3 d'])
  })

  it('skipToFirst drops those that started before its first c', () => {
    expect(matchesIn(pattern.skipToFirst('c'), RECORDS)).toEqual(['a b c1 c2 c3 d', 'c1 c2 c3 d'])
  })
})

describe('after a match of "a b+" in "a b1 b2 b3"', () => {
  const RECORDS = 'a b1 b2 b3'
  const pattern = begin('a').where(is('a')).followedBy('b').where(is('b')).oneOrMore().within(100)

  it('noSkip keeps longer ones', () => {
    expect(matchesIn(pattern, RECORDS)).toEqual(['a b1', 'a b1 b2', 'a b1 b2 b3'])
  })

  it('skipToNext drops longer ones', () => {
    expect(matchesIn(pattern.skipToNext(), RECORDS)).toEqual(['a b1'])
  })
})

it('notFollowedBy at the end matches when the time of within is over', () => {
  const pattern = begin('start')
    .next('middle')
    .where(is('a'))
    .notFollowedBy('end')
    .where(is('b'))
    .within(10)
  const matcher = new LetterMatcher(pattern)
  matcher.take('x a c', 0).advanceTime(9)
  expect(matcher.found.matches).toEqual([])
  matcher.advanceTime(10)
  expect(matcher.found.matches).toEqual(['x a'])
  expect(new LetterMatcher(pattern).take('x a c b').advanceTime(100).found.matches).toEqual([])
})
