import { describe, expect, it } from 'vitest'
import { Pattern } from '../../../src/dataflow/cep/pattern.ts'
import { CEP } from '../../../src/dataflow/cep/pattern-stream.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { monotonousTimestamps } from '../../../src/dataflow/watermark-strategy.ts'

const begin = Pattern.of<number>().begin
const keyed = () =>
  new StreamExecutionEnvironment().fromElements([1], monotonousTimestamps()).keyBy((n) => n)

/** A call of plain JavaScript, which the compiler does not check. */
const plain = (object: unknown): Record<string, (...args: unknown[]) => unknown> => object as never

const refused =
  (make: () => unknown): (() => unknown) =>
  () => {
    const made = make()
    return made instanceof Pattern ? CEP.pattern(keyed(), made as never) : made
  }

describe('a pattern is refused, with what to do', () => {
  it.each([
    [
      'whose loop has no end',
      () => begin('a').next('b').oneOrMore(),
      'stage "b" is a loop without an end, so that its partial matches would stay for all time: add within(ms) to the pattern or until(condition) to the loop',
    ],
    [
      'with a group that repeats without an end',
      () => begin(begin('a').next('b')).timesOrMore(2),
      'the group of a, b is a loop without an end',
    ],
    [
      'with two stages of one name',
      () => begin('a').next('b').followedBy('a'),
      'the pattern has two stages with the name "a": give one of them another name',
    ],
    [
      'with a name of a group that is outside of it, too',
      () => begin('a').next(begin('b').next('a')),
      'two stages with the name "a"',
    ],
    [
      'that ends with notFollowedBy without a time',
      () => begin('a').notFollowedBy('b'),
      'the pattern can end with the notFollowedBy behind stage "a", which no record ends: add within(ms)',
    ],
    [
      'that can end with notFollowedBy, because what is behind it is optional',
      () => begin('a').notFollowedBy('b').next('c').optional(),
      'the pattern can end with the notFollowedBy behind stage "a"',
    ],
    [
      'with a negated stage behind an optional one',
      () => begin('a').next('b').optional().notNext('c').next('d'),
      'the negated stage "c" comes behind an optional one',
    ],
    [
      'of nothing but optional stages',
      () => begin('a').optional().next('b').optional(),
      'each stage of the pattern is optional, so that it matches nothing at all',
    ],
    [
      'with a group of optional stages that repeats',
      () => begin('a').next(begin('b').optional()).times(2),
      'each stage of the group of b is optional, and the group has a quantifier',
    ],
    [
      'with a loop that repeats a loop',
      () => begin(begin('a').oneOrMore()).oneOrMore().within(1),
      'stage "a" can follow the same record in two ways, because a loop repeats what is a loop itself',
    ],
    [
      'that skips to a stage that takes nothing',
      () => plain(begin('a').notNext('b').next('c'))['skipToLast']!('b'),
      'the pattern skips to stage "b", which takes no records in it: its stages are a, c',
    ],
    ['of too many times', () => begin('a').times(20_000), 'more than 10000 places for records'],
    ['with a second quantifier', () => begin('a').times(2).oneOrMore(), 'second quantifier'],
    ['that is greedy once', () => begin('a').greedy(), 'greedy() belongs to a loop'],
    ['that is consecutive once', () => begin('a').consecutive(), 'consecutive() belongs to a loop'],
    [
      'with until of a loop that has a last time',
      () =>
        begin('a')
          .times(2)
          .until(() => true),
      'until(...) ends a loop without a last time',
    ],
    [
      'with a negated loop',
      () => begin('a').notNext('b').oneOrMore(),
      'oneOrMore(...) has no meaning for a negated stage: notNext("b") takes where(...) and or(...) alone',
    ],
    ['with a greedy group', () => begin(begin('a')).times(2).greedy(), 'greedy() of a group'],
    ['with a condition of a group', () => begin(begin('a')).where(() => true), 'not to a group'],
    [
      'with a group that has a time of its own',
      () => begin(begin('a').within(1)),
      'begin(...) got a group with within or a skip strategy of its own',
    ],
    ['of negative times', () => begin('a').times(-1), 'times(...): from must be a whole number'],
    ['of fewer times than the least', () => begin('a').times(3, 2), 'times(...): to must be'],
    ['within a negative time', () => begin('a').within(-5), 'within(...): withinMs must be'],
    ['within part of a ms', () => begin('a').within(0.5), 'within(...): withinMs must be'],
    ['without a name', () => begin(''), 'begin(...) got '],
    ['with a condition that is none', () => plain(begin('a'))['where']!('x'), 'where'],
    ['with a promise as a condition', () => plain(begin('a'))['where']!(async () => true), 'async'],
    [
      'that is none',
      () => CEP.pattern(keyed(), {} as never),
      'CEP.pattern(...) got as its pattern',
    ],
    [
      'on a stream without keys',
      () => CEP.pattern(new StreamExecutionEnvironment().fromElements([1]) as never, begin('a')),
      'a stream with a key: call keyBy(...) before it',
    ],
    [
      'with an option that does not exist',
      () => CEP.pattern(keyed(), begin('a'), { maxPartialMatch: 1 } as never),
      'did you mean "maxPartialMatches"?',
    ],
  ])('%s', (_name, make, sentence) => {
    expect(refused(make)).toThrow(sentence)
  })

  it('on a stream without watermarks', () => {
    const env = new StreamExecutionEnvironment()
    const stream = env.fromElements([1]).keyBy((n) => n)
    CEP.pattern(stream, begin('a'))
      .select(() => 1)
      .print()
    expect(() => env.graph()).toThrow(/Pattern.*watermarks/)
  })
})
