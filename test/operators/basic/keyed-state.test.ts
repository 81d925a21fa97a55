import { describe, expect, it } from 'vitest'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { plainKeySerializer } from '../../../src/core/formats/plain-key-serializer.ts'
import { stringSerializer } from '../../../src/core/serializer.ts'
import { LatestValueOperator } from '../../../src/operators/basic/latest-value.ts'
import { QueryableStateOperator } from '../../../src/operators/basic/queryable-state.ts'
import { ReduceOperator } from '../../../src/operators/basic/reduce.ts'
import type { StreamOperator } from '../../../src/operators/port/operator.ts'
import { aggregatingState, reducingState, valueState } from '../../../src/state/port/descriptors.ts'
import type { HarnessSnapshot } from '../../../src/testing/harness-snapshot.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'

type Pair = readonly [key: string, amount: number]

const text = new TextEncoder()

const open = (operator: StreamOperator, restore: HarnessSnapshot[] = []) =>
  OperatorHarness.open<Pair, Pair>({
    operator,
    keys: { selectors: [([key]: Pair) => key], serializer: plainKeySerializer() },
    restore,
  })

/** The answer to a client's query for a key. */
function query(harness: OperatorHarness<Pair, Pair>, queryableName: string, key: string): unknown {
  const reply = harness.keyedState!.answer({
    kind: 'values',
    id: 1,
    queryableName,
    keys: [text.encode(key)],
  })
  const [answer] = reply.answers
  return answer?.kind === 'found' ? new TextDecoder().decode(answer.value) : answer?.kind
}

describe('ReduceOperator', () => {
  const sum = (): ReduceOperator<Pair> =>
    new ReduceOperator<Pair>(([key, a], [, b]) => [key, a + b], msgpackSerializer())

  it('emits the reduction of its key after every record', async () => {
    const harness = await open(sum())
    for (const pair of [
      ['a', 1],
      ['b', 5],
      ['a', 2],
    ] as const)
      harness.process(pair)
    expect(harness.values).toEqual([
      ['a', 1],
      ['b', 5],
      ['a', 3],
    ])
  })

  it('continues from a snapshot', async () => {
    const before = await open(sum())
    before.process(['a', 1])
    const after = await open(sum(), [await before.snapshot()])
    after.process(['a', 2])
    expect(after.values).toEqual([['a', 3]])
  })
})

describe('LatestValueOperator', () => {
  it('answers queries with the latest record of a key and emits nothing', async () => {
    const serializer = {
      ...stringSerializer,
      write: ([, amount]: Pair, writer: Parameters<typeof stringSerializer.write>[1]) =>
        stringSerializer.write(`${amount}`, writer),
      read: (): Pair => ['', 0],
    }
    const harness = await open(
      new LatestValueOperator(valueState<Pair>('latest', { serializer, queryableName: 'prices' })),
    )
    harness.process(['tea', 4])
    harness.process(['tea', 5])
    expect(query(harness, 'prices', 'tea')).toBe('5')
    expect(query(harness, 'prices', 'ink')).toBe('missing')
    expect(harness.values).toEqual([])
  })
})

describe('QueryableStateOperator', () => {
  const pairText = {
    id: 'pair-text/1',
    write: ([, amount]: Pair, writer: Parameters<typeof stringSerializer.write>[1]) =>
      stringSerializer.write(`${amount}`, writer),
    read: (reader: Parameters<typeof stringSerializer.read>[0]): Pair => [
      '',
      Number(stringSerializer.read(reader)),
    ],
  }

  it('folds the records of a key with a reducing descriptor', async () => {
    const descriptor = reducingState<Pair>('sums', ([key, a], [, b]) => [key, a + b], {
      serializer: pairText,
      queryableName: 'sums',
    })
    const harness = await open(new QueryableStateOperator(descriptor))
    for (const pair of [
      ['a', 1],
      ['a', 2],
    ] as const)
      harness.process(pair)
    expect(query(harness, 'sums', 'a')).toBe('3')
  })

  it('folds the records of a key with an aggregating descriptor', async () => {
    const descriptor = aggregatingState<Pair, unknown, unknown>(
      'counts',
      {
        createAccumulator: () => 0,
        add: (_, count) => (count as number) + 1,
        getResult: (count) => count,
        merge: (a, b) => (a as number) + (b as number),
      },
      {
        queryableName: 'counts',
        serializer: {
          id: 'count-text/1',
          write: (count, writer) => stringSerializer.write(`${count}`, writer),
          read: (reader) => Number(stringSerializer.read(reader)),
        },
      },
    )
    const harness = await open(new QueryableStateOperator<Pair>(descriptor))
    for (const pair of [
      ['a', 1],
      ['a', 2],
    ] as const)
      harness.process(pair)
    expect(query(harness, 'counts', 'a')).toBe('2')
  })
})
