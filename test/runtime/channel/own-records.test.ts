import { describe, expect, it } from 'vitest'
import { murmur3 } from '../../../src/core/hash/murmur3.ts'
import { placeOf } from '../../../src/core/position.ts'
import { OwnRecords } from '../../../src/runtime/channel/own-records.ts'
import type { RecordGroup } from '../../../src/runtime/channel/record-group.ts'

function setUp() {
  const position = { partition: 0, offset: 0, source: 0 }
  return { position, own: new OwnRecords(5, position) }
}

function groupsOf(own: OwnRecords): RecordGroup[] {
  const groups: RecordGroup[] = []
  for (let group = own.take(); group !== undefined; group = own.take()) groups.push(group)
  return groups
}

/** The records as the receiver finds them: value or its bytes, key, timestamp and offset. */
function recordsOf(own: OwnRecords): unknown[][] {
  return groupsOf(own).flatMap((group) =>
    Array.from({ length: group.count }, (_, i) => {
      const slice = (starts: Int32Array, lengths: Int32Array): string =>
        Buffer.from(group.bytes.subarray(starts[i], starts[i]! + lengths[i]!)).toString()
      const key = group.frequent[i]?.bytes ?? slice(group.keyStarts, group.keyLengths)
      expect(group.hashes[i]).toBe(murmur3(Buffer.from(key)) | 0)
      const value = group.objects[i] ?? slice(group.valueStarts, group.valueLengths)
      return [value, Buffer.from(key).toString(), group.timestamps[i], group.offsets[i]]
    }),
  )
}

function setKey(own: OwnRecords, text: string): void {
  const key = Buffer.from(`__${text}`)
  own.setKey(key, 2, key.length - 2, murmur3(Buffer.from(text)))
}

describe('OwnRecords', () => {
  it('gives back objects, encoded values, keys, timestamps and offsets in order, also when it is filled again', () => {
    const { own, position } = setUp()
    for (const round of [1, 2]) {
      const expected: unknown[][] = []
      for (let n = 0; n < 100; n++) {
        position.offset = n * round
        const object = { n }
        const text = 'x'.repeat(n * 3)
        const isEncoded = n % 3 === 0
        if (isEncoded) own.addEncoded(Buffer.from(text), text.length, n)
        else own.add(object, 8, n)
        setKey(own, `key-${n * round}`)
        expected.push([isEncoded ? text : object, `key-${n * round}`, n, n * round])
      }
      expect(own.records).toBe(100)
      expect(recordsOf(own)).toEqual(expected)
      own.reset()
    }
  })

  it('uses its bytes again', () => {
    const { own } = setUp()
    for (let n = 0; n < 50; n++) {
      own.addEncoded(new Uint8Array(100), 100, 0)
      own.reset()
    }
    expect(own.bytes.length).toBeLessThanOrEqual(1024)
  })

  it('begins a run of positions with each partition and source', () => {
    const { own, position } = setUp()
    for (const [partition, source] of [
      [0, 0],
      [0, 0],
      [1, 0],
      [1, 1],
      [-1, 1],
    ] as const) {
      Object.assign(position, { partition, source })
      own.add({}, 8, 0)
    }
    const runs = [
      0,
      placeOf(0, 0),
      0,
      2,
      placeOf(0, 1),
      0,
      3,
      placeOf(1, 1),
      0,
      4,
      placeOf(1, -1),
      0,
    ]
    expect(own.positions).toEqual(runs)
    own.reset()
    own.add({}, 8, 0)
    expect(own.positions).toEqual([0, placeOf(1, -1), 0])
  })

  it('holds no value of records that were read', () => {
    const { own } = setUp()
    for (let n = 0; n < 40; n++) own.add({ n }, 8, 0)
    const groups = groupsOf(own)
    own.reset()
    expect(groups.map(({ count, objects }) => [count, objects.length])).toEqual([
      [0, 0],
      [0, 0],
      [0, 0],
    ])
    expect(own.take()?.count).toBe(0)
  })

  it('gives a frequent key that lost its place away only after its records were read', () => {
    const { own } = setUp()
    const [first, second] = [own.exchange(undefined), own.exchange(undefined)]
    own.add({}, 8, 0)
    own.setFrequentKey(first)
    expect(own.exchange(first)).not.toBe(first)
    own.reset()
    expect(own.exchange(second)).toBe(first)
  })
})
