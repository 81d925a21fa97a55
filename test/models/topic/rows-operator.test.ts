import { describe, expect, it } from 'vitest'
import type { ByteSpan } from '../../../src/core/byte-span.ts'
import { decodeFactors, encodeFactors } from '../../../src/models/als/row.ts'
import type { RowUpdate } from '../../../src/models/als/row-update.ts'
import {
  encodeMarker,
  type ModelVersionMarker,
  markerKey,
} from '../../../src/models/registry/version-marker.ts'
import {
  type BadRowPolicy,
  type MarkerSeen,
  ModelRowsOperator,
  type ModelTopicRecord,
  type VersionDimensions,
} from '../../../src/models/topic/rows-operator.ts'
import type { HarnessSnapshot } from '../../../src/testing/harness-snapshot.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'

const encoder = new TextEncoder()

const open = (
  policy: BadRowPolicy = 'drop',
  restore: readonly HarnessSnapshot[] = [],
  dimensions: VersionDimensions = {},
) =>
  OperatorHarness.open<ModelTopicRecord, RowUpdate>({
    operator: new ModelRowsOperator(2, policy, false, dimensions),
    restore,
  })

/** The record in a batch, where nothing is aligned. */
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

const ready = (
  version: number,
  dimension = 2,
  event: 'announce' | 'ready' | 'retire' = 'ready',
  facts: Partial<ModelVersionMarker> = {},
): ModelTopicRecord => {
  const marker = encodeMarker({
    ...facts,
    event,
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
      const update = harness.take()[0]!
      const { kind, version } = update
      const key = new TextDecoder().decode(bytesOf(update.key))
      if (update.kind !== 'row') return { kind, key, version }
      return { kind, key, version, vector: [...decodeFactors(bytesOf(update.floats))] }
    })
    expect(rows).toEqual([
      { kind: 'row', key: '7-U', version: 3, vector: [1, 2] },
      { kind: 'row', key: '8-I', version: 1, vector: [3, 4] },
      { kind: 'remove', key: '8-I', version: 1 },
    ])
  })

  it.each([
    ['a key of no kind', row('7', [1, 2]), 'does not end in -U or -I'],
    [
      'a row under the key of the mean user',
      row('MEAN-U@2', [1, 2]),
      '"MEAN" is the id of the mean',
    ],
    ['the removal of the mean item', record('MEAN-I', null), '"MEAN" is the id of the mean'],
    ['a row of another length', row('7-U', [1]), 'has 4 bytes where 2 float32 were expected'],
    ['no key', record(null, null), 'has no key'],
    [
      'a text row of another length',
      record('7-U', encoder.encode('7,U,1;2;3')),
      'the text row of 7-U has 3 floats where 2 were expected',
    ],
    [
      'the text row of the mean user',
      record('k', encoder.encode('MEAN,U,1;2')),
      '"MEAN" is the id',
    ],
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

  describe('takes rows of the length that their version has', () => {
    type Harness = Awaited<ReturnType<typeof open>>
    /** Version and length of the rows that are passed on of these records; each is read before the next comes. */
    const lengths = (harness: Harness, records: readonly ModelTopicRecord[]) =>
      records.flatMap((each) => {
        harness.process(each, -1, { position: { partition: 1, offset: 9 } })
        return harness
          .take()
          .flatMap((update) =>
            update.kind === 'row' ? [[update.version, update.floats.length / 4]] : [],
          )
      })
    const rows = [row('7-U@2', [1, 2, 3]), row('7-U@2', [1, 2]), row('7-U@1', [1, 2])]
    const reasonsOf = ({ events }: Harness) =>
      events.flatMap((event) => (event as { readonly reason?: string }).reason ?? [])

    it('as its marker before them says, also after a restore', async () => {
      const harness = await open()
      const taken = [
        [2, 3],
        [1, 2],
      ]
      expect(lengths(harness, [ready(2, 3, 'announce'), ...rows])).toEqual(taken)
      expect(reasonsOf(harness)).toEqual([
        expect.stringContaining('has 8 bytes where 3 float32 were expected'),
      ])
      const restored = await open('drop', [await harness.snapshot()])
      expect(lengths(restored, rows)).toEqual(taken)
    })

    it('as the job knows, where compaction has left no marker before them', async () => {
      const harness = await open('drop', [], { 2: 3 })
      expect(lengths(harness, [...rows, ready(2, 3)])).toEqual([
        [2, 3],
        [1, 2],
      ])
      expect(reasonsOf(harness)).toHaveLength(1)
    })

    it('and lets no version go live whose rows were refused before its marker said how long they are', async () => {
      const harness = await open()
      expect(lengths(harness, [rows[0]!, ready(2, 3)])).toEqual([])
      expect(reasonsOf(harness)).toEqual([
        expect.stringContaining('has 12 bytes where 2 float32 were expected'),
        expect.stringContaining('version 2 has rows of 3 floats, and rows of it came before'),
      ])
      // When it is published again, its rows come behind a marker.
      const again = [ready(2, 3, 'announce'), rows[0]!, ready(2, 3)]
      expect(lengths(harness, again)).toEqual([[2, 3]])
      expect(reasonsOf(harness)).toHaveLength(2)
    })

    it('of the usual length again after it was retired', async () => {
      const harness = await open()
      expect(lengths(harness, [ready(2, 3), ready(2, 3, 'retire'), ...rows])).toEqual([
        [2, 2],
        [1, 2],
      ])
    })
  })

  it('reads text rows, and says once which reading it took of those that could be floats', async () => {
    const harness = await open()
    const text = (key: string | null, value: string) => record(key, encoder.encode(value))
    // The third is as long as a row of two floats.
    const records = [text(null, '7,U,1;2.5'), text('k@3', '8,I,3;4'), text('9-U', '9,U,5;06')]
    const rows = records.map((each, offset) => {
      harness.process(each, -1, { position: { partition: 1, offset } })
      const update = harness.take()[0]!
      if (update.kind !== 'row') throw new Error(update.kind)
      const key = new TextDecoder().decode(bytesOf(update.key))
      return { key, version: update.version, vector: [...decodeFactors(bytesOf(update.floats))] }
    })
    expect(rows).toEqual([
      { key: '7-U', version: 1, vector: [1, 2.5] },
      { key: '8-I', version: 3, vector: [3, 4] },
      { key: '9-U', version: 1, vector: [5, 6] },
    ])
    expect(harness.events).toEqual([{ kind: 'text-taken', partition: 1, offset: 2 }])
    harness.process(text('9-U', '9,U,7;08'))
    expect(harness.events).toHaveLength(1)
  })

  it('reads floats that look like a text as floats if they say so', async () => {
    const harness = await open()
    const bytes = encoder.encode('9,U,5;06')
    harness.process({ ...record('9-U', bytes), headers: () => [{ key: 'f32', value: null }] })
    const update = harness.take()[0]!
    expect(update.kind === 'row' && bytesOf(update.floats)).toEqual(bytes)
  })

  it('fails on bad rows if the policy says so', async () => {
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

  it('lets every owner of rows open a version once, at a marker of the first partition, and again after a restore', async () => {
    const harness = await open()
    const opened = (from: typeof harness) => {
      return from.take().map((update) => {
        const { kind, version } = update
        return kind === 'open' ? `${kind} ${version} of ${update.dimension}` : `${kind} ${version}`
      })
    }
    harness.process(ready(2, 5), -1, { position: { partition: 1, offset: 9 } })
    expect(opened(harness)).toEqual([])
    // Compaction has deleted the markers before this one.
    harness.process(ready(2, 5), -1, { position: { partition: 0, offset: 9 } })
    harness.process(ready(3, 2, 'retire'), -1, { position: { partition: 1, offset: 10 } })
    const all = opened(harness)
    expect(new Set(all)).toEqual(new Set(['open 2 of 5', 'retire 3']))
    const restored = await open('drop', [await harness.snapshot()])
    restored.clock.advance(1)
    expect(opened(restored)).toEqual(all)
  })

  it('keeps of a retired version only that it is retired, and not of too many', async () => {
    const harness = await open()
    for (let version = 1; version <= 150; version++) {
      for (const partition of [0, 1]) {
        const offset = 10 * version + partition
        harness.process(ready(version), -1, { position: { partition, offset } })
      }
      for (const partition of [0, 1]) {
        const offset = 10 * version + 5 + partition
        if (version > 148) continue
        harness.process(ready(version, 2, 'retire'), -1, { position: { partition, offset } })
      }
    }
    const restored = await open('drop', [await harness.snapshot()])
    const markers = restored.events.map((event) => {
      const { marker, partition } = event as MarkerSeen
      return `${marker.event} ${marker.version}/${partition}`
    })
    expect(markers.slice(-4)).toEqual(['ready 149/0', 'ready 149/1', 'ready 150/0', 'ready 150/1'])
    const retired = markers.filter((text) => text.startsWith('retire'))
    expect(markers.length).toBe(retired.length + 4)
    expect(retired.length).toBeLessThanOrEqual(102)
    expect(retired.at(-1)).toBe('retire 148/1')
  })
})

it('rows and markers of a version that is too high are dropped and named, and end nothing', async () => {
  const harness = await open()
  harness.process(row('a-U@2147483648', [1, 2]))
  harness.process(record(markerKey(2_147_483_648), encoder.encode('{"version":2147483648}')))
  harness.process(row('a-U@2147483647', [1, 2]))
  const versions = harness.take().map((update) => update.version)
  expect(versions).toEqual([2_147_483_647])
  expect(harness.metrics.snapshot()['numRecordsDropped']).toBe(2)
})

it('sends the variances of a row behind it, and those of rows that are missing', async () => {
  const harness = await OperatorHarness.open<ModelTopicRecord, RowUpdate>({
    operator: new ModelRowsOperator(2, 'drop'),
  })
  const variance = encodeFactors(Float32Array.of(0.5, 1))
  const cold = { coldVariances: { user: 2, item: 0.25 } }
  const updates: unknown[] = []
  for (const each of [
    { ...row('7-U@3', [1, 2]), header: () => variance },
    row('8-I@3', [3, 4]),
    ready(3, 2, 'ready', cold),
  ]) {
    harness.process(each, -1, { position: { partition: 0, offset: 1 } })
    for (const update of harness.take()) {
      // Without floats it opens the version for an owner of rows.
      if (update.kind !== 'variance' || update.floats.length === 0) continue
      const key = new TextDecoder().decode(bytesOf(update.key))
      updates.push([key, update.version, ...decodeFactors(bytesOf(update.floats))])
    }
  }
  expect(updates).toEqual([
    ['7-U', 3, 0.5, 1],
    ['MEAN-U', 3, 2, 1],
    ['MEAN-I', 3, 1, 0.25],
  ])
})
