import { describe, expect, it } from 'vitest'
import type { DataStream } from '../../src/dataflow/data-stream.ts'
import { mapState } from '../../src/state/port/descriptors.ts'
import { interleavings } from '../../src/testing/interleavings.ts'
import { StreamHarness } from '../../src/testing/stream-harness.ts'

const textsOf = (inputs: readonly (readonly string[])[], options = {}): string[] =>
  [...interleavings(inputs, options)].map((order) => order.map(({ value }) => value).join(''))

describe('interleavings', () => {
  it('are all orders where these are few, each once and each input in its order', () => {
    expect(
      textsOf([
        ['a', 'b'],
        ['1', '2'],
      ]).toSorted(),
    ).toEqual(['12ab', '1a2b', '1ab2', 'a12b', 'a1b2', 'ab12'].toSorted())
    expect(textsOf([['a'], [], ['1']])).toEqual(['a1', '1a'])
  })

  it('are as many different ones as asked for where there are more, equal for equal seeds', () => {
    const inputs = [[...'abcdefgh'], [...'12345678'], [...'xyz']]
    const drawn = textsOf(inputs, { seed: 5, count: 40 })
    expect(new Set(drawn).size).toBe(40)
    expect(drawn.slice(0, 3)).toEqual([
      'abcdefgh12345678xyz',
      '12345678abcdefghxyz',
      'xyzabcdefgh12345678',
    ])
    for (const text of drawn) {
      expect(text.replaceAll(/[^a-h]/g, '')).toBe('abcdefgh')
      expect(text.replaceAll(/\D/g, '')).toBe('12345678')
      expect(text.replaceAll(/[^x-z]/g, '')).toBe('xyz')
    }
    expect(textsOf(inputs, { seed: 5, count: 40 })).toEqual(drawn)
    expect(textsOf(inputs, { seed: 6, count: 40 })).not.toEqual(drawn)
  })

  it('draw each order alike often', () => {
    // Of 35 orders, 34 are asked for: the one that is missing must not be the same for most seeds.
    const inputs = [[...'abcd'], [...'123']]
    const all = new Set(textsOf(inputs))
    expect(all.size).toBe(35)
    const missing = new Set<string>()
    for (let seed = 0; seed < 60; seed++) {
      const drawn = new Set(textsOf(inputs, { seed, count: 34 }))
      for (const text of all) if (!drawn.has(text)) missing.add(text)
    }
    expect(missing.size).toBeGreaterThan(20)
  })

  it('find the race of a rule that comes after the record that needs it', async () => {
    const rules = mapState<string, number>('rules')
    const build = (numbers: DataStream<number>, factors: DataStream<number>) =>
      numbers.connect(factors.broadcast(rules)).process<number>(() => ({
        processElement(value, context, out) {
          out.collect(value * (context.getBroadcastState(rules).get('factor') ?? 1))
        },
        processBroadcastElement(factor, context) {
          context.getBroadcastState(rules).put('factor', factor)
        },
      }))
    const results = new Set<string>()
    for (const order of interleavings([[1, 2], [10]])) {
      const harness = await StreamHarness.open<[number, number], number>(build)
      for (const { input, value } of order) harness.process(value, 0, input as 0 | 1)
      results.add(harness.values.join())
      await harness.close()
    }
    expect([...results].toSorted()).toEqual(['1,2', '1,20', '10,20'])
  })

  it('are refused for what is no list of lists', () => {
    expect(() => [...interleavings(['ab'] as never)]).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
  })
})
