import { describe, expect, it } from 'vitest'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { plainKeySerializer } from '../../../src/core/formats/plain-key-serializer.ts'
import { createWindowOperator } from '../../../src/dataflow/windows/plan.ts'
import { reduceFold } from '../../../src/operators/folds/fold.ts'
import { FoldedPart } from '../../../src/operators/port/folded-part.ts'
import {
  slidingEventTimeWindows,
  tumblingEventTimeWindows,
  tumblingProcessingTimeWindows,
  type WindowAssigner,
} from '../../../src/operators/windows/assigner.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'

const numbers = msgpackSerializer<number>()

/** An operator that adds numbers; the key of each is 0. */
function adding(assigner: WindowAssigner): Promise<OperatorHarness<unknown, string>> {
  const operator = createWindowOperator<number, number>(
    {
      keySerializer: plainKeySerializer<number>(),
      serializer: numbers,
      assigner,
      allowedLatenessMs: 0,
      lateDataTag: undefined,
      trigger: undefined,
      evictor: undefined,
      fold: {
        fold: reduceFold<number>((a, b) => a + b, { parts: 'any-order' }) as never,
        serializer: numbers as never,
      },
    },
    {
      process: (_, { window }, [sum], out) => out.collect(`${window.start}: ${sum}`),
    },
    true,
  )
  const keys = { selectors: [() => 0], serializer: plainKeySerializer() }
  return OperatorHarness.open<unknown, string>({ operator, keys })
}

const part = (sum: number, records: number): FoldedPart<number> =>
  new FoldedPart(sum, records, true)

describe('windows that get parts of records', () => {
  it('add them to records of a tumbling window, in any order', async () => {
    const harness = await adding(tumblingEventTimeWindows(10))
    harness.process(part(5, 2), 0)
    harness.process(1, 3)
    harness.process(part(7, 4), 0)
    harness.process(part(100, 4), 10)
    harness.watermark(9)
    expect(harness.values).toEqual(['0: 13'])
  })

  it('add them to all sliding windows of their slice', async () => {
    const harness = await adding(slidingEventTimeWindows(20, 10))
    harness.process(part(5, 2), 10)
    harness.process(1, 13)
    harness.process(part(7, 4), 20)
    harness.watermark(100)
    expect(harness.values).toEqual(['0: 6', '10: 13', '20: 7'])
  })

  it('add them to the window of the wall clock', async () => {
    const harness = await adding(tumblingProcessingTimeWindows(10))
    harness.process(part(5, 2), 0)
    harness.process(1, 3)
    harness.advanceTime(10)
    harness.process(part(7, 4), 0)
    harness.advanceTime(10)
    expect(harness.values.map((value) => value.split(': ')[1])).toEqual(['6', '7'])
  })

  it.each([
    ['tumbling', tumblingEventTimeWindows(10)],
    ['sliding', slidingEventTimeWindows(20, 10)],
  ])('count each record of a part, late ones too (%s)', async (_, assigner) => {
    const harness = await adding(assigner)
    const counted = (name: string): number => harness.metrics.counter(name).value
    harness.process(part(5, 3), 0)
    // The runtime counts a part as one record.
    expect(counted('numRecordsIn')).toBe(2)
    harness.watermark(100)
    harness.process(part(5, 3), 0)
    harness.process(1, 0)
    expect(counted('numLateRecordsDropped')).toBe(4)
    expect(harness.values).not.toContain('0: 10')
  })
})
