import { describe, expect, it } from 'vitest'
import { MAX_TIMESTAMP, MIN_TIMESTAMP } from '../../../src/core/time.ts'
import {
  boundedOutOfOrderness,
  generatedWatermarks,
  noWatermarks,
} from '../../../src/dataflow/watermark-strategy.ts'
import { TimestampsAndWatermarksOperator } from '../../../src/operators/basic/timestamps-and-watermarks.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'

const timestampOf = (time: number): number => time

describe('TimestampsAndWatermarksOperator', () => {
  it('sets timestamps, and its watermark follows the largest one by the bound', async () => {
    const operator = new TimestampsAndWatermarksOperator(boundedOutOfOrderness(5, { timestampOf }))
    const harness = await OperatorHarness.open<number, number>({ operator })
    for (const time of [10, 8, 20]) harness.process(time, 999)
    expect(harness.outputs.map((record) => record.timestamp)).toEqual([10, 8, 20])
    expect(harness.watermarks).toEqual([4, 14])
  })

  it('stops the watermarks of its input, except the last', async () => {
    const operator = new TimestampsAndWatermarksOperator(boundedOutOfOrderness(5, { timestampOf }))
    const harness = await OperatorHarness.open<number, number>({ operator })
    harness.watermark(500)
    harness.process(10)
    expect(harness.watermarks).toEqual([4])
    harness.endInput()
    expect(harness.watermarks).toEqual([4, MAX_TIMESTAMP])
    expect(operator.outputWatermark()).toBe(MAX_TIMESTAMP)
  })

  it('makes none without a bound', async () => {
    const operator = new TimestampsAndWatermarksOperator(noWatermarks<number>())
    const harness = await OperatorHarness.open<number, number>({ operator })
    harness.process(10, 10)
    expect(operator.outputWatermark()).toBe(MIN_TIMESTAMP)
  })

  it.each([Number.NaN, 1.5, undefined])(
    'refuses the watermark %s of a generator',
    async (watermark) => {
      const rule = generatedWatermarks<number>(() => ({
        onEvent: (_value, _timestamp, output) => output.emitWatermark(watermark as number),
        onPeriodicEmit() {},
      }))
      const operator = new TimestampsAndWatermarksOperator(rule)
      const harness = await OperatorHarness.open<number, number>({ operator })
      expect(() => harness.process(1, 1)).toThrow('the watermark that the generator emits')
    },
  )

  it('takes a watermark before all times of a generator as none', async () => {
    const rule = generatedWatermarks<number>(() => ({
      onEvent: (_value, _timestamp, output) => output.emitWatermark(Number.NEGATIVE_INFINITY),
      onPeriodicEmit() {},
    }))
    const operator = new TimestampsAndWatermarksOperator(rule)
    const harness = await OperatorHarness.open<number, number>({ operator })
    harness.process(1, 1)
    expect(operator.outputWatermark()).toBe(MIN_TIMESTAMP)
  })

  it('makes the watermarks of its generator, by record and from time to time', async () => {
    let ticks = 0
    const rule = generatedWatermarks<number>(
      () => ({
        onEvent: (value, timestamp, output) => {
          if (value % 2 === 1) output.emitWatermark(timestamp)
        },
        onPeriodicEmit: (output) => {
          ticks += 1
          if (ticks === 4) output.emitWatermark(100)
        },
      }),
      { timestampOf: (value) => value * 10 },
    )
    const operator = new TimestampsAndWatermarksOperator(rule)
    const harness = await OperatorHarness.open<number, number>({ operator })
    for (const value of [1, 2, 3]) harness.process(value)
    expect(harness.watermarks).toEqual([10, 30])
    harness.process(4)
    expect(harness.watermarks).toEqual([10, 30, 100])
  })

  it('is idle after the configured time without records, until the next record', async () => {
    const rule = boundedOutOfOrderness(0, { timestampOf, idleAfterMs: 100 })
    const operator = new TimestampsAndWatermarksOperator(rule)
    const harness = await OperatorHarness.open<number, number>({ operator })
    harness.process(1)
    harness.advanceTime(99)
    expect(operator.outputIdle()).toBe(false)
    harness.advanceTime(1)
    expect(operator.outputIdle()).toBe(true)
    harness.process(2)
    expect(operator.outputIdle()).toBe(false)
  })
})
