import { describe, expect, it } from 'vitest'
import { FilterOperator } from '../../../src/operators/basic/filter.ts'
import { FlatMapOperator } from '../../../src/operators/basic/flat-map.ts'
import { MapOperator } from '../../../src/operators/basic/map.ts'
import { OutputTag } from '../../../src/operators/port/output-tag.ts'
import { ProcessOperator } from '../../../src/operators/process/process.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'

describe('MapOperator', () => {
  it('maps each record and keeps its timestamp', async () => {
    const operator = new MapOperator((n: number) => `${n * 2}`)
    const harness = await OperatorHarness.open<number, string>({ operator })
    harness.process(4, 99)
    expect(harness.outputs).toEqual([{ value: '8', timestamp: 99 }])
  })
})

describe('FilterOperator', () => {
  it('keeps the records for which the predicate holds', async () => {
    const operator = new FilterOperator((n: number) => n > 1)
    const harness = await OperatorHarness.open<number, number>({ operator })
    for (const n of [1, 2, 3]) harness.process(n)
    expect(harness.values).toEqual([2, 3])
  })
})

describe('FlatMapOperator', () => {
  it('emits what the function returns', async () => {
    const operator = new FlatMapOperator((line: string) => line.split(' '))
    const harness = await OperatorHarness.open<string, string>({ operator })
    harness.process('a b', 5)
    expect(harness.outputs).toEqual([
      { value: 'a', timestamp: 5 },
      { value: 'b', timestamp: 5 },
    ])
  })

  it('emits what the function passes to the collector, with the given timestamp if any', async () => {
    const operator = new FlatMapOperator<number, number>((n, out) => {
      out.collect(n)
      out.collect(n + 1, 7)
    })
    const harness = await OperatorHarness.open<number, number>({ operator })
    harness.process(1, 5)
    expect(harness.outputs).toEqual([
      { value: 1, timestamp: 5 },
      { value: 2, timestamp: 7 },
    ])
  })
})

describe('ProcessOperator', () => {
  it('opens and closes the function once, and forwards watermarks', async () => {
    const calls: string[] = []
    const operator = new ProcessOperator<number, number>({
      open: (context) => void calls.push(`open ${context.subtask} of ${context.parallelism}`),
      processElement: (value, _, out) => out.collect(value),
      close: () => void calls.push('close'),
    })
    const harness = await OperatorHarness.open<number, number>({
      operator,
      subtask: 1,
      parallelism: 2,
    })
    harness.process(1)
    harness.watermark(10)
    await harness.close()
    expect(calls).toEqual(['open 1 of 2', 'close'])
    expect(harness.watermarks).toEqual([10])
  })

  it('gives timestamp, position, watermark and wall clock of the record, and emits to side outputs', async () => {
    const tag = new OutputTag<string>('seen')
    const seen: unknown[] = []
    const operator = new ProcessOperator<string, string>({
      processElement: (value, context) => {
        const { timestamp, position, currentWatermark, currentProcessingTime } = context
        seen.push({ timestamp, position, currentWatermark, currentProcessingTime })
        context.output(tag, value)
      },
    })
    const harness = await OperatorHarness.open<string, string>({ operator })
    harness.watermark(3)
    harness.advanceTime(50)
    harness.process('x', 12, { position: { partition: 2, offset: 7 } })
    expect(seen).toEqual([
      {
        timestamp: 12,
        position: { partition: 2, offset: 7 },
        currentWatermark: 3,
        currentProcessingTime: 50,
      },
    ])
    expect(harness.sideOutput(tag)).toEqual([{ value: 'x', timestamp: 12 }])
  })
})

describe('an async function', () => {
  const later = async (): Promise<never> => {
    await Promise.resolve()
    throw new Error('never reported twice')
  }
  const operators = {
    'of map': () => new MapOperator(later),
    'of filter': () => new FilterOperator(later as unknown as () => boolean),
    'of flatMap': () => new FlatMapOperator(later as unknown as () => undefined),
    processElement: () => new ProcessOperator({ processElement: later }),
  }
  for (const [name, create] of Object.entries(operators)) {
    it(`is refused at its first promise: ${name}`, async () => {
      const harness = await OperatorHarness.open<number, number>({ operator: create() })
      expect(() => harness.process(1)).toThrow(
        expect.objectContaining({
          code: 'UNSUPPORTED',
          message: expect.stringContaining('AsyncDataStream.orderedWait'),
        }),
      )
    })
  }
})
