import { describe, expect, it } from 'vitest'
import {
  boundedOutOfOrderness,
  monotonousTimestamps,
} from '../../../src/dataflow/watermark-strategy.ts'
import { mapState, valueState } from '../../../src/state/port/descriptors.ts'
import { Program, wrong } from './wrong-programs.ts'

const { env, orders, keyed } = new Program()
const timeOf = (order: { readonly price: number }): number => order.price

/** Wrong programs, and what the error says that they gave and should give. */
const PROGRAMS: readonly (readonly [program: () => unknown, gave: string, takes: string])[] = [
  [() => orders.sinkTo(wrong(() => {})), 'a function', 'a sink, which has createWriter(...)'],
  [() => env.fromSource(wrong([1, 2])), 'an array of 2', 'a source, which has createReader(...)'],
  [() => env.fromElements(wrong(1)), 'the number 1', 'an array: fromElements([1, 2, 3])'],
  [() => env.fromElements(wrong('abc')), 'the string "abc"', 'an array'],
  [() => env.fromElements([1], wrong(timeOf)), 'a function', 'a watermark strategy'],
  [() => orders.assignTimestampsAndWatermarks(wrong(timeOf)), 'a function', 'a watermark strategy'],
  [() => orders.assignTimestampsAndWatermarks(wrong(undefined)), 'undefined', 'a watermark'],
  [() => monotonousTimestamps(wrong(timeOf)), 'a function', 'options: { timestampOf'],
  [() => boundedOutOfOrderness(5, { timestampOf: wrong('t') }), 'the string "t"', 'a function'],
  [() => orders.broadcast(wrong('rules')), 'the string "rules"', "broadcast(mapState('rules'))"],
  [() => orders.broadcast(wrong(valueState('a'))), 'an object with kind', 'map states'],
  [
    () =>
      orders.transform(
        wrong(() => {}),
        wrong(1),
      ),
    'a function',
    "transform('Name', () =>",
  ],
  [() => orders.transform('Mine', wrong({})), 'an object without fields', 'a function without'],
  [() => orders.map(timeOf).uid(wrong(5)), 'the number 5', "a text: uid('orders')"],
  [() => orders.map(timeOf).name(wrong(undefined)), 'undefined', "a text: name('orders')"],
  [() => keyed.asQueryableState(wrong(undefined)), 'undefined', 'a text'],
  [() => keyed.window(wrong(5_000)), 'the number 5000', 'windows: tumblingEventTimeWindows'],
  [() => keyed.window(wrong(undefined)), 'undefined', 'windows'],
]

describe('an argument of a stream that is no object of the right kind', () => {
  it.each(PROGRAMS)('is refused: %s', (program, gave, takes) => {
    expect(program).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringMatching(/got .* but takes /),
      }),
    )
    expect(program).toThrow(gave)
    expect(program).toThrow(takes)
  })

  it('passes when it is right', () => {
    expect(() => orders.broadcast(mapState('rules'))).not.toThrow()
  })
})
