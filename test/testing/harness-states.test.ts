import { describe, expect, it } from 'vitest'
import type { DataStream } from '../../src/dataflow/data-stream.ts'
import type { KeyedProcessFunction } from '../../src/operators/process/function.ts'
import {
  aggregatingState,
  listState,
  mapState,
  reducingState,
  valueState,
} from '../../src/state/port/descriptors.ts'
import { StreamHarness } from '../../src/testing/stream-harness.ts'

type Sale = readonly [shop: string, item: string, price: number]

const last = valueState<string>('last')
const items = listState<string>('items')
const byItem = mapState<string, number>('by item')
const highest = reducingState<number>('highest', Math.max)
const mean = aggregatingState('mean', {
  createAccumulator: () => [0, 0],
  add: (price: number, [sum, count]: readonly number[]) => [sum! + price, count! + 1],
  getResult: ([sum, count]: readonly number[]) => sum! / count!,
  merge: (a: readonly number[]) => [...a],
})

const remember = (): KeyedProcessFunction<string, Sale, Sale> => {
  let keep: (sale: Sale) => void
  return {
    open(context) {
      const states = {
        last: context.getState(last),
        items: context.getListState(items),
        byItem: context.getMapState(byItem),
        highest: context.getReducingState(highest),
        mean: context.getAggregatingState(mean),
      }
      keep = ([, item, price]) => {
        states.last.update(item)
        states.items.add(item)
        states.byItem.put(item, price)
        states.highest.add(price)
        states.mean.add(price)
      }
    },
    processElement(sale, _, out) {
      keep(sale)
      out.collect(sale)
    },
  }
}

const remembered = (sales: DataStream<Sale>): DataStream<Sale> =>
  sales
    .keyBy(([shop]) => shop)
    .process(remember)
    .uid('first')

describe('the states of a harness', () => {
  it('are what the functions have for a key, by the descriptor', async () => {
    const harness = await StreamHarness.open<[Sale], Sale>(remembered)
    for (const sale of [
      ['north', 'tea', 4],
      ['north', 'milk', 2],
      ['south', 'tea', 5],
      ['north', 'tea', 3],
    ] as const) {
      harness.process(sale)
    }
    const { states } = harness
    expect(states.of(last, 'north')).toBe('tea')
    expect(states.of(items, 'north')).toEqual(['tea', 'milk', 'tea'])
    expect(states.of(byItem, 'north')).toEqual(
      new Map([
        ['tea', 3],
        ['milk', 2],
      ]),
    )
    expect(states.of(highest, 'north')).toBe(4)
    expect(states.of(mean, 'north')).toBe(3)
    expect(states.of(mean, 'south')).toBe(5)
    expect(states.of(last, 'west')).toBeUndefined()
    expect(states.of(items, 'west')).toEqual([])
    await harness.close()
  })

  it('are refused where no operator has declared the state, or several have', async () => {
    const harness = await StreamHarness.open<[Sale], Sale>((sales) =>
      remembered(sales)
        .keyBy(([, item]) => item)
        .process(remember)
        .uid('second'),
    )
    harness.process(['north', 'tea', 4])
    expect(() => harness.states.of(valueState('lost'), 'north')).toThrow(
      /no operator of the harness has declared the state "lost"/,
    )
    expect(() => harness.states.of(last, 'north')).toThrow(/one of the uids "first", "second"/)
    expect(harness.states.of(last, 'north', 'first')).toBe('tea')
    expect(harness.states.of(last, 'tea', 'second')).toBe('tea')
    expect(() => harness.states.of(last, 'tea', 'third')).toThrow(/operator "third" has not/)
    // To ask for a state does not declare it.
    expect((await harness.snapshot())['first']!.declarations.map(({ name }) => name)).not.toContain(
      'lost',
    )
    await harness.close()
  })

  it('have broadcast state, with its keys and values in the order of first insertion', async () => {
    const rules = mapState<string, number>('rules')
    const harness = await StreamHarness.open<[number, readonly [string, number]], string>(
      (numbers, changes) =>
        numbers.connect(changes.broadcast(rules)).process<string>(() => ({
          processElement(_, context, out) {
            const state = context.getBroadcastState(rules)
            out.collect(`${[...state.keys()]} ${[...state.values()]} ${state.isEmpty()}`)
          },
          processBroadcastElement([key, value], context) {
            context.getBroadcastState(rules).put(key, value)
          },
        })),
    )
    harness.process(1)
    expect(harness.states.broadcast(rules).isEmpty()).toBe(true)
    harness.process(['b', 2], 0, 1)
    harness.process(['a', 1], 0, 1)
    harness.process(['b', 3], 0, 1)
    harness.process(1)
    expect(harness.values).toEqual(['  true', 'b,a 3,1 false'])
    const state = harness.states.broadcast(rules)
    expect([...state.entries()]).toEqual([
      ['b', 3],
      ['a', 1],
    ])
    expect(() => harness.states.broadcast(mapState('others'))).toThrow(
      expect.objectContaining({ code: 'INVALID_GRAPH' }),
    )
    await harness.close()
  })
})
