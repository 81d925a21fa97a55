import { describe, expect, it } from 'vitest'
import type { ByteSpan } from '../../src/core/byte-span.ts'
import {
  type BadRowPolicy,
  ModelRowsOperator,
  type ModelTopicRecord,
} from '../../src/jobs/model-rows-operator.ts'
import { decodeFactors, encodeFactors } from '../../src/models/als-row.ts'
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

/** The record as it lies in a batch: nothing is aligned. */
const record = (key: string | null, value: Uint8Array | null): ModelTopicRecord => {
  const keyBytes = encoder.encode(key ?? '')
  return {
    bytes: Uint8Array.of(9, ...keyBytes, 8, ...(value ?? []), 7),
    keyStart: 1,
    keyLength: key === null ? -1 : keyBytes.length,
    valueStart: keyBytes.length + 2,
    valueLength: value === null ? -1 : value.length,
  }
}

const row = (key: string, vector: readonly number[]): ModelTopicRecord =>
  record(key, encodeFactors(Float32Array.from(vector)))

const bytesOf = ({ bytes, start, length }: ByteSpan): Uint8Array<ArrayBuffer> =>
  new Uint8Array(bytes.slice(start, start + length))

const ready = (version: number, dimension = 2): ModelTopicRecord => {
  const marker = encodeMarker({
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
  })
  return record(markerKey(version), marker)
}

describe('the operator of model rows', () => {
  it('passes rows on with key and version, and removals without a vector', async () => {
    const harness = await open()
    const records = [row('7-U@3', [1, 2]), row('8-I', [3, 4]), record('8-I', null)]
    // A row is looked at before the next one comes: it is one object that points at the record.
    const rows = records.map((each) => {
      harness.process(each)
      const { key, version, floats } = harness.take()[0]!
      const vector = floats && [...decodeFactors(bytesOf(floats))]
      return { key: new TextDecoder().decode(bytesOf(key)), version, vector }
    })
    expect(rows).toEqual([
      { key: '7-U', version: 3, vector: [1, 2] },
      { key: '8-I', version: 1, vector: [3, 4] },
      { key: '8-I', version: 1, vector: undefined },
    ])
  })

  it.each([
    ['a key of no kind', row('7', [1, 2]), 'does not end in -U or -I'],
    ['a row of another length', row('7-U', [1]), 'has 4 bytes where 2 float32 were expected'],
    ['no key', record(null, null), 'has no key'],
    ['a version of another shape', ready(2, 9), 'has rows of 9 floats where 2 are served'],
  ])('drops, counts and reports %s', async (_, bad, reason) => {
    const harness = await open()
    const position = { partition: 1, offset: 5 }
    harness.process(bad, -1, { position })
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
