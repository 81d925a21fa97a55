import { describe, expect, it } from 'vitest'
import {
  type BadRowPolicy,
  ModelRowsOperator,
  type ModelTopicRecord,
} from '../../src/jobs/model-rows-operator.ts'
import { encodeFactors } from '../../src/models/als-row.ts'
import type { ModelRow } from '../../src/models/model-row.ts'
import { encodeMarker, markerKey } from '../../src/models/model-version-marker.ts'
import type { HarnessSnapshot } from '../../src/testing/harness-snapshot.ts'
import { OperatorHarness } from '../../src/testing/operator-harness.ts'

const encoder = new TextEncoder()

const open = (policy: BadRowPolicy = 'drop', restore: readonly HarnessSnapshot[] = []) =>
  OperatorHarness.open<ModelTopicRecord, ModelRow>({
    operator: new ModelRowsOperator(2, policy),
    restore,
  })

const row = (key: string, vector: readonly number[]): ModelTopicRecord => ({
  key: encoder.encode(key),
  value: encodeFactors(Float32Array.from(vector)),
})

const ready = (version: number, dimension = 2): ModelTopicRecord => ({
  key: encoder.encode(markerKey(version)),
  value: encodeMarker({
    event: 'ready',
    version,
    name: 'ALS_MODEL',
    dimension,
    biased: false,
    users: 1,
    items: 1,
    globalMean: 3,
    hyperparameters: {},
    metrics: {},
  }),
})

describe('the operator of model rows', () => {
  it('passes rows on with key and version, and removals without a vector', async () => {
    const harness = await open()
    const records = [row('7-U@3', [1, 2]), row('8-I', [3, 4]), { ...row('8-I', []), value: null }]
    // A row is looked at before the next one comes: its vector is the operator's one buffer.
    const rows = records.map((record) => {
      harness.process(record)
      const { key, version, vector } = harness.take()[0]!
      return { key: new TextDecoder().decode(key), version, vector: vector && [...vector] }
    })
    expect(rows).toEqual([
      { key: '7-U', version: 3, vector: [1, 2] },
      { key: '8-I', version: 1, vector: [3, 4] },
      { key: '8-I', version: 1, vector: undefined },
    ])
  })

  it('reads rows that lie unaligned in their batch', async () => {
    const harness = await open()
    const { key, value } = row('7-U', [1.5, -2])
    const shifted = new Uint8Array(9)
    shifted.set(value!, 1)
    harness.process({ key, value: shifted.subarray(1) })
    expect([...harness.values[0]!.vector!]).toEqual([1.5, -2])
  })

  it.each([
    ['a key of no kind', row('7', [1, 2]), 'does not end in -U or -I'],
    ['a row of another length', row('7-U', [1]), 'has 4 bytes where 2 float32 were expected'],
    ['no key', { key: null, value: null }, 'has no key'],
    ['a version of another shape', ready(2, 9), 'has rows of 9 floats where 2 are served'],
  ])('drops, counts and reports %s', async (_, record, reason) => {
    const harness = await open()
    const position = { partition: 1, offset: 5 }
    harness.process(record, -1, { position })
    expect(harness.values).toEqual([])
    expect(harness.events).toEqual([
      { kind: 'row-dropped', ...position, reason: expect.stringContaining(reason) },
    ])
    expect(harness.metrics.snapshot()).toMatchObject({ numRecordsDropped: 1 })
  })

  it('fails instead where bad rows must not pass', async () => {
    const harness = await open('fail')
    expect(() => harness.process(row('7', [1, 2]))).toThrow('does not end in -U or -I')
  })

  it('reports version markers, again after a restore', async () => {
    const harness = await open()
    harness.process(ready(2), -1, { position: { partition: 0, offset: 9 } })
    const seen = [expect.objectContaining({ kind: 'marker-seen', partition: 0, offset: 9 })]
    expect(harness.events).toEqual(seen)
    const restored = await open('drop', [await harness.snapshot()])
    expect(restored.events).toEqual(seen)
  })
})
