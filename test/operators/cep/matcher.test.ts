import { describe, expect, it } from 'vitest'
import { plainKeySerializer } from '../../../src/core/formats/plain-key-serializer.ts'
import { stringSerializer } from '../../../src/core/serializer.ts'
import { Pattern } from '../../../src/dataflow/cep/pattern.ts'
import { compilePattern } from '../../../src/operators/cep/automaton.ts'
import { PatternOperator } from '../../../src/operators/cep/operator.ts'
import type { HarnessSnapshot } from '../../../src/testing/harness-snapshot.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'
import { is, LetterMatcher } from './found-matches.ts'

const begin = Pattern.of<string>().begin

describe('partial matches without number', () => {
  /** Each record doubles the partial matches. */
  const exploding = begin('a').where(is('a')).oneOrMore().allowCombinations().within(1_000_000)
  const records = Array.from({ length: 60 }, (_, i) => `a${i}`).join(' ')

  it('fail with a typed error that says what to do', () => {
    const matcher = new LetterMatcher(exploding, { maxPartialMatches: 1000 })
    const error = {
      code: 'TOO_MANY_PARTIAL_MATCHES',
      details: { limit: 1000 },
      message: expect.stringContaining("whenFull: 'drop-oldest'"),
    }
    expect(() => matcher.take(records)).toThrow(expect.objectContaining(error))
  })

  it('are dropped where that is asked for, those that started first, and counted', () => {
    const matcher = new LetterMatcher(exploding, {
      maxPartialMatches: 10,
      whenFull: 'drop-oldest',
    }).take('a0 a1 a2 a3')
    // 1, 3, 7 and 15 without a limit; the first five of 15 began with a0.
    expect(matcher.found.dropped).toBe(5)
    expect(matcher.matches.partial).toHaveLength(10)
    matcher.take(records, 4)
    expect(matcher.matches.partial).toHaveLength(10)
  })
})

describe('matches that wait for a partial match that started before them', () => {
  // x waits for a z that never comes; the matches of a and b may be dropped by one that starts with x.
  const waiting = begin('first')
    .where(is('x'))
    .or(is('a'))
    .followedBy('last')
    .where((record, { first }) => record.startsWith(first[0]!.startsWith('x') ? 'z' : 'b'))
    .skipPastLastEvent()
  const records = `x ${'a b '.repeat(20)}`.trim()

  it('count as partial matches', () => {
    const matcher = new LetterMatcher(waiting, { maxPartialMatches: 10 })
    expect(() => matcher.take(records)).toThrow('more than 10 partial matches')
  })

  it('go out when what they wait for is dropped', () => {
    const options = { maxPartialMatches: 10, whenFull: 'drop-oldest' } as const
    const { found } = new LetterMatcher(waiting, options).take(records)
    expect(found.dropped).toBe(1)
    expect(found.matches).toEqual(Array.from({ length: 20 }, () => 'a b'))
  })
})

describe('the state of a key', () => {
  const pattern = begin('a').where(is('a')).next('b').where(is('b')).oneOrMore().next('c')
  const within = pattern.where(is('c')).within(10)

  function open(spec: typeof within.spec, restore: readonly HarnessSnapshot[] = []) {
    const operator = new PatternOperator<string, string, string>({
      automaton: compilePattern(spec),
      userFunction: {
        processMatch: (match, _context, out) => out.collect(Object.values(match).flat().join(' ')),
      },
      keySerializer: plainKeySerializer<string>(),
      serializer: stringSerializer,
      lateDataTag: undefined,
      timedOutTag: undefined,
      maxPartialMatches: 100,
      whenFull: 'fail',
    })
    const keys = { selectors: [() => 'key'], serializer: plainKeySerializer() }
    return OperatorHarness.open<string, string>({ operator, keys, restore })
  }

  it('holds a record once, however many partial matches share it, and none that is in no match', async () => {
    const harness = await open(within.spec)
    'x a1 b1 b2 b3 x'.split(' ').forEach((record, time) => {
      harness.process(record, time)
    })
    harness.watermark(4)
    // Four records, the matches of the key, a timer, and x at 5 with its own, which waits.
    expect(harness.numKeyedStateEntries()).toBe(4 + 1 + 1)
    expect(harness.numEventTimeTimers()).toBe(2)
    harness.watermark(20)
    expect(harness.numKeyedStateEntries() + harness.numEventTimeTimers()).toBe(0)
    await harness.close()
  })

  it('goes on after a restore, where a partial match was in the middle', async () => {
    const first = await open(within.spec)
    first.process('a1', 1)
    first.process('b1', 2)
    first.process('b2', 3)
    first.watermark(2)
    const snapshot = await first.snapshot()
    await first.close()
    const second = await open(within.spec, [snapshot])
    second.process('c1', 4)
    second.watermark(4)
    expect(second.values).toEqual(['a1 b1 b2 c1'])
    await second.close()
  })

  it('is refused by a pattern of another form, with what to do', async () => {
    const first = await open(within.spec)
    first.process('a1', 1)
    first.watermark(2)
    const snapshot = await first.snapshot()
    await first.close()
    const other = begin('a').where(is('a')).followedBy('c').where(is('c')).within(10)
    await expect(open(other.spec, [snapshot])).rejects.toMatchObject({
      code: 'STATE_CONFLICT',
      message: expect.stringMatching(/of another pattern: .* Give the operator another uid/),
    })
    // Another time is the same form.
    await (await open(within.within(20).spec, [snapshot])).close()
  })

  it('takes records of keys that a restore brings together in the order of their times', async () => {
    const harness = await open(within.spec)
    harness.process('a1', 5)
    harness.watermark(6)
    const snapshot = await harness.snapshot()
    await harness.close()
    // As where another subtask had seen less: the watermark is back.
    const { operatorState: _, ...keyed } = snapshot
    const restored = await open(within.spec, [{ ...keyed, operatorState: [] }])
    restored.process('b0', 3)
    restored.process('b1', 6)
    restored.process('c1', 7)
    restored.watermark(8)
    expect(restored.values).toEqual(['a1 b1 c1'])
    expect(restored.metrics.counter('numLateRecordsDropped').value).toBe(1)
    await restored.close()
  })
})

it('conditions that do not look at the match are called once for each record, others for each partial match', () => {
  let plain = 0
  let looking = 0
  const matcher = new LetterMatcher(
    begin('a')
      .where(is('a'))
      .followedByAny('b')
      .where((record) => {
        plain += 1
        return record.startsWith('b')
      })
      .followedByAny('c')
      .where((_record, { b }) => {
        looking += 1
        return b.length > 5
      })
      .within(100),
  )
  matcher.take('a1 a2 a3 b1')
  expect(plain).toBe(3)
  expect(looking).toBe(0)
  matcher.take('x', 4)
  expect([plain, looking]).toEqual([4, 3])
})

it('a condition that forgets to return fails', () => {
  const pattern = begin('a').where((() => {}) as never)
  expect(() => new LetterMatcher(pattern).take('a')).toThrow(
    'a condition of stage "a" returned undefined: return true or false',
  )
})

it('until with greedy gives up the guard of the stage behind it', () => {
  // Worked out by hand: c ends the loop, so that b2 no longer belongs to it, and may stand before d.
  const pattern = begin('b').where(is('b')).oneOrMore().greedy().until(is('c'))
  const matcher = new LetterMatcher(pattern.followedBy('d').where(is('d')).within(100))
  expect(matcher.take('b1 c b2 d').found.matches).toEqual(['b1 d', 'b2 d'])
})
