import { describe, expect, it } from 'vitest'
import { encodeFactors } from '../../../src/models/als/row.ts'
import type { WeightUpdate } from '../../../src/models/linear/weight-update.ts'
import type { ModelTopicRecord } from '../../../src/models/topic/record.ts'
import { WeightRowsOperator } from '../../../src/models/topic/weight-rows-operator.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'
import type { RecordHeader } from '../../../src/wire/batch/record-batch-format.ts'

const RANGE = 2

/** A record with a value of text or floats. */
function record(
  key: string,
  value: string | Float32Array,
  headers: readonly RecordHeader[] = [],
): ModelTopicRecord {
  const bytes = Buffer.concat([
    Buffer.from(key),
    typeof value === 'string' ? Buffer.from(value) : encodeFactors(value),
  ])
  const keyLength = Buffer.byteLength(key)
  return {
    ...{ bytes, keyStart: 0, keyLength, valueStart: keyLength },
    ...{ valueLength: bytes.length - keyLength, headers: () => headers },
  }
}

const open = () =>
  OperatorHarness.open<ModelTopicRecord, WeightUpdate>({
    operator: new WeightRowsOperator(RANGE, 'drop'),
  })

describe('a record under the key of a block', () => {
  it('is floats, or the text of weights, also where that is as long as the block', async () => {
    const harness = await open()
    const updates = [record('0-W@3', Float32Array.of(1, 2)), record('1-W@3', '3,0.7500')].map(
      (each, offset) => {
        harness.process(each, -1, { position: { partition: 0, offset } })
        return harness.take().map((update) => structuredClone(update))
      },
    )
    expect(updates).toMatchObject([
      [{ kind: 'row', version: 3, weights: Float32Array.of(1, 2) }],
      [{ kind: 'some', version: 3, indices: Uint16Array.of(1), weights: Float32Array.of(0.75) }],
    ])
    expect(harness.events).toEqual([{ kind: 'text-taken', partition: 0, offset: 1 }])
  })

  it('is floats where it says so, and where it does not read as weights', async () => {
    const harness = await open()
    for (const [value, headers] of [
      ['3,0.7500', [{ key: 'f32', value: null }]],
      ['weights1', []],
    ] as const) {
      harness.process(record('1-W@3', value, headers))
      const floats = new Float32Array(Uint8Array.from(Buffer.from(value)).buffer)
      expect(harness.take()).toMatchObject([{ kind: 'row', version: 3, weights: floats }])
    }
    expect(harness.events).toEqual([])
  })
})
