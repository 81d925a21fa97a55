import { describe, expect, it } from 'vitest'
import { AsyncDataStream } from '../../../src/dataflow/async/data-stream.ts'
import { mapState } from '../../../src/state/port/descriptors.ts'
import { joined, Program, wrong } from './wrong-programs.ts'

const rules = mapState<string, number>('rules')

type Call = readonly [
  operator: string,
  method: string,
  pass: (program: Program, given: never) => unknown,
]

/** All methods of streams that take a factory of functions, with a method that its product must have. */
const CALLS: Readonly<Record<string, Call>> = {
  richMap: ['Map', 'map', ({ orders }, given) => orders.richMap(given)],
  richFilter: ['Filter', 'filter', ({ orders }, given) => orders.richFilter(given)],
  richFlatMap: ['FlatMap', 'flatMap', ({ orders }, given) => orders.richFlatMap(given)],
  richReduce: ['Reduce', 'reduce', ({ keyed }, given) => keyed.richReduce(given)],
  process: ['Process', 'processElement', ({ orders }, given) => orders.process(given)],
  'process with keys': [
    'KeyedProcess',
    'processElement',
    ({ keyed }, given) => keyed.process(given),
  ],
  'process of windows': ['Window', 'process', ({ windows }, given) => windows.process(given)],
  'process behind a reduce': [
    'Window',
    'process',
    ({ windows }, given) => windows.reduce((a) => a, given),
  ],
  map: ['CoMap', 'map2', ({ connected }, given) => connected.map(given)],
  flatMap: ['CoFlatMap', 'flatMap2', ({ connected }, given) => connected.flatMap(given)],
  'process of two streams': [
    'CoProcess',
    'processElement2',
    ({ connected }, given) => connected.process(given),
  ],
  'process of two streams with keys': [
    'KeyedCoProcess',
    'processElement2',
    ({ keyed }, given) => keyed.connect(keyed).process(given),
  ],
  'process of a broadcast': [
    'BroadcastProcess',
    'processBroadcastElement',
    ({ orders }, given) => orders.connect(orders.broadcast(rules)).process(given),
  ],
  'process of a broadcast with keys': [
    'KeyedBroadcastProcess',
    'processBroadcastElement',
    ({ keyed, orders }, given) => keyed.connect(orders.broadcast(rules)).process(given),
  ],
  'process of an interval join': [
    'IntervalJoin',
    'processElement',
    ({ keyed }, given) => keyed.intervalJoin(keyed).between(0, 1).process(given),
  ],
  richApply: ['Window', 'join', (program, given) => joined(program).richApply(given)],
  richFlatApply: ['Window', 'join', (program, given) => joined(program).richFlatApply(given)],
}

describe.each(Object.keys(CALLS))('the factory of %s', (name) => {
  const [operator, method, pass] = CALLS[name]!
  const call = `${name.split(' ')[0]}(...) of operator "${operator}"`
  const given = (value: unknown) => (): unknown => pass(new Program(), wrong(value))
  const refusal = (sentence: string): unknown =>
    expect.objectContaining({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(`${call} got ${sentence}`),
    })

  it('is not the function itself, which the error says how to pass', () => {
    expect(given((value: unknown, out: unknown) => [value, out])).toThrow(
      refusal('a function with 2 parameters, but takes a function without parameters that makes'),
    )
    expect(given(() => 1)).toThrow(refusal('a function that makes the number 1'))
    expect(given(() => {})).toThrow(refusal('a function that makes undefined'))
  })

  it('is not the object itself', () => {
    expect(given({ [method]: () => 1 })).toThrow(refusal(`an object with ${method}`))
  })

  it('is not a class, whose name the remedy has', () => {
    class Mine {}
    expect(given(Mine)).toThrow(refusal('the class Mine'))
    expect(given(Mine)).toThrow(/=> new Mine\(\)\)$/)
  })

  it('is not async', () => {
    expect(given(async () => ({}))).toThrow(refusal('an async function'))
  })

  it(`makes what has ${method}`, () => {
    expect(given(() => ({ other: () => 1 }))).toThrow(
      refusal('a function that makes an object with other, but takes'),
    )
    expect(given(() => ({}))).toThrow(new RegExp(`\\b${method}\\(\\.\\.\\.\\)`))
  })
})

describe('a method of a function object', () => {
  const { keyed } = new Program()

  it('is refused when it is async, with its name and AsyncDataStream', () => {
    const create = wrong(() => ({ async processElement() {} }))
    expect(() => keyed.process(create)).toThrow(
      /^processElement of operator "KeyedProcess" is async.*AsyncDataStream/,
    )
  })

  it('is refused when it handles timers and is async', () => {
    const create = wrong(() => ({ processElement() {}, async onTimer() {} }))
    expect(() => keyed.process(create)).toThrow(/^onTimer of operator "KeyedProcess" is async/)
  })

  it('is refused when it is a generator, which nothing would run', () => {
    const create = wrong(() => ({ *processElement() {} }))
    expect(() => keyed.process(create)).toThrow(/a generator.*out\.collect/)
  })

  it('may be async when it opens or closes', () => {
    const create = () => ({ async open() {}, async close() {}, processElement() {} })
    expect(() => keyed.process(create)).not.toThrow()
  })

  it('may come from a class', () => {
    class Counting {
      processElement(): void {}
    }
    class Inheriting extends Counting {}
    expect(() => keyed.process(() => new Inheriting())).not.toThrow()
  })
})

describe('asynchronous I/O', () => {
  const wait = (...given: readonly unknown[]) => {
    const { orders } = new Program()
    return () => AsyncDataStream.unorderedWait(orders, wrong(given[0]), wrong(given[1]))
  }
  const create = () => ({ asyncInvoke: async () => [] })

  it('refuses an async function in the place of its factory', () => {
    expect(wait(async (order: unknown) => [order])).toThrow(
      /unorderedWait\(\.\.\.\) of operator "AsyncWaitUnordered" got an async function with 1 parameter.*asyncInvoke/,
    )
  })

  it('refuses the arguments of Flink, which would be ignored', () => {
    expect(wait(create, 1_000)).toThrow(
      /options must be an object with capacity, timeoutMs, .*, not the number 1000/,
    )
    expect(wait(create, undefined)).not.toThrow()
  })

  it('refuses what is no stream', () => {
    expect(() => AsyncDataStream.orderedWait(wrong(undefined), create)).toThrow(
      'orderedWait(...) got undefined, but takes a stream',
    )
  })
})
