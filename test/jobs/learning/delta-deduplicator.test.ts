import { describe, expect, it } from 'vitest'
import { decodeSeen, encodeSeen } from '../../../src/jobs/learning/als/deltas-operator.ts'
import { DeltaDeduplicator } from '../../../src/jobs/learning/delta-deduplicator.ts'
import {
  decodeSeen as decodeLinear,
  encodeSeen as encodeLinear,
} from '../../../src/jobs/learning/linear/deltas-operator.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

describe('a delta', () => {
  it('is a duplicate where its offset is not above the highest of its source', () => {
    const deltas = new DeltaDeduplicator()
    expect(deltas.isNew(0, 1, 2, 3, 10)).toBe(true)
    expect(deltas.isNew(0, 1, 2, 3, 10)).toBe(false)
    expect(deltas.isNew(0, 1, 2, 3, 9)).toBe(false)
    expect(deltas.isNew(0, 1, 2, 3, 11)).toBe(true)
  })

  it.each([
    ['partition of the deltas topic', [1, 1, 2, 3]],
    ['version', [0, 2, 2, 3]],
    ['partition of the observations', [0, 1, 3, 3]],
    ['source key group', [0, 1, 2, 200]],
  ] as const)('is new from another %s', (_, [deltas, version, partition, group]) => {
    const deduplicator = new DeltaDeduplicator()
    deduplicator.isNew(0, 1, 2, 3, 10)
    expect(deduplicator.isNew(deltas, version, partition, group, 5)).toBe(true)
    expect(deduplicator.isNew(0, 1, 2, 3, 10)).toBe(false)
  })

  it('of one of the last three versions is recognized', () => {
    const deltas = new DeltaDeduplicator()
    for (const version of [1, 2, 3, 4]) deltas.isNew(0, version, 0, 0, 10)
    for (const version of [2, 3, 4]) expect(deltas.isNew(0, version, 0, 0, 10)).toBe(false)
  })
})

describe('the highest offsets in a checkpoint', () => {
  const seen = () => {
    const deltas = new DeltaDeduplicator()
    deltas.isNew(1, 7, 2, 3, 10)
    deltas.isNew(1, 7, 0, 130, 2 ** 40)
    deltas.isNew(4, 8, 1, 0, 0)
    return deltas
  }

  it('of an ALS model have bytes that never change', () => {
    expect(encodeSeen(seen().seen()).map(hex)).toEqual([
      '01000000' +
        '07000000' +
        '00000000' +
        '8200' +
        '0000000000007042' +
        '07000000' +
        '02000000' +
        '0300' +
        '0000000000002440',
      '04000000' + '08000000' + '01000000' + '0000' + '0000000000000000',
    ])
  })

  it('of a linear model have bytes that never change', () => {
    const deltas = new DeltaDeduplicator()
    deltas.isNew(1, 0, 2, 0, 300)
    expect(Array.from(deltas.seen(), (each) => hex(encodeLinear(each)))).toEqual([
      '01000000' + '02000000' + '0000000000c07240',
    ])
  })

  it('are restored as they were', () => {
    const restored = new DeltaDeduplicator()
    for (const entry of encodeSeen(seen().seen())) {
      for (const each of decodeSeen(entry)) restored.restore(each)
    }
    expect([...restored.seen()]).toEqual([...seen().seen()])
    const linear = { deltaPartition: 1, version: 0, partition: 2, sourceKeyGroup: 0, offset: 300 }
    expect(decodeLinear(encodeLinear(linear))).toEqual(linear)
  })
})
