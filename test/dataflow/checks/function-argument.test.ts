import { describe, expect, it } from 'vitest'
import { tumblingEventTimeWindows } from '../../../src/operators/windows/assigner.ts'
import { joined, Program, wrong } from './wrong-programs.ts'

const coGrouped = ({ orders }: Program) =>
  orders
    .coGroup(orders)
    .where(({ user }) => user)
    .equalTo(({ user }) => user)
    .window(tumblingEventTimeWindows(10))

/** All methods of streams that take a function of records, by their name and operator. */
const CALLS: Readonly<Record<string, (program: Program, given: never) => unknown>> = {
  'map(...) of operator "Map"': ({ orders }, given) => orders.map(given),
  'filter(...) of operator "Filter"': ({ orders }, given) => orders.filter(given),
  'flatMap(...) of operator "FlatMap"': ({ orders }, given) => orders.flatMap(given),
  'keyBy(...) of operator "Elements"': ({ orders }, given) => orders.keyBy(given),
  'keyBy(...) of operator "Elements" in place': ({ orders }, given) =>
    orders.reinterpretAsKeyedStream(given),
  'keyBy(...) of operator "ConnectedStreams"': ({ connected }, given) =>
    connected.keyBy(({ user }) => user, given),
  'partitionCustom(...) of operator "Elements"': ({ orders }, given) =>
    orders.partitionCustom(given, ({ user }) => user),
  'partitionCustom(...) of operator "Elements", key': ({ orders }, given) =>
    orders.partitionCustom(() => 0, given),
  'reduce(...) of operator "Reduce"': ({ keyed }, given) => keyed.reduce(given),
  'reduce(...) of operator "Window"': ({ windows }, given) => windows.reduce(given),
  'apply(...) of operator "Window"': ({ windows }, given) => windows.apply(given),
  'apply(...) of operator "WindowAll"': ({ orders }, given) =>
    orders.windowAll(tumblingEventTimeWindows(10)).apply(given),
  'where(...) of operator "Window"': ({ orders }, given) => orders.join(orders).where(given),
  'equalTo(...) of operator "Window"': ({ orders }, given) =>
    orders
      .coGroup(orders)
      .where(({ user }) => user)
      .equalTo(given),
  'apply(...) of operator "Window" of a join': (program, given) => joined(program).apply(given),
  'flatApply(...) of operator "Window"': (program, given) => joined(program).flatApply(given),
  'apply(...) of operator "Window" of a co-group': (program, given) =>
    coGrouped(program).apply(given),
}

const nameOf = (call: string): string => call.split('"').slice(0, 2).join('"')

describe.each(Object.keys(CALLS))('%s', (call) => {
  const pass = (given: unknown) => (): unknown => CALLS[call]!(new Program(), wrong(given))

  it.each([
    [{ map: () => 1 }, 'an object with map'],
    ['price', 'the string "price"'],
    [undefined, 'undefined'],
    [class Doubling {}, 'the class Doubling'],
  ])('refuses what is no function: %s', (given, words) => {
    expect(pass(given)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining(`${nameOf(call)}" got ${words}, but takes a function: `),
      }),
    )
  })

  it('refuses an async function before a record comes', () => {
    expect(pass(async () => true)).toThrow(
      expect.objectContaining({
        code: 'UNSUPPORTED',
        message: expect.stringMatching(/is async, so it returns a promise.*AsyncDataStream/),
      }),
    )
  })
})

describe('a generator function', () => {
  it('is refused where one result belongs, and the error names flatMap', () => {
    const { orders } = new Program()
    const generator = wrong(function* () {})
    expect(() => orders.map(generator)).toThrow(/got a generator function.*use flatMap/)
  })

  it('is taken by flatMap', () => {
    const { orders } = new Program()
    expect(() =>
      orders.flatMap(function* ({ user }) {
        yield user
      }),
    ).not.toThrow()
  })
})
