import { describe, expect, it } from 'vitest'
import { restoreFromOf } from '../../../src/runtime/job/restore-from.ts'

const HDFS = 'hdfs://node:9870/weir?user.name=weir'

describe('restoreFromOf', () => {
  it.each([
    ['/data/checkpoints/savepoints/savepoint-1', '/data/checkpoints'],
    ['/data/checkpoints/savepoints/savepoint-1/_metadata', '/data/checkpoints/'],
    ['file:///data/checkpoints/savepoints/savepoint-1/', 'file:///data/checkpoints'],
    ['savepoints/savepoint-1', '/data/checkpoints'],
    ['data/checkpoints/savepoints/savepoint-1', 'data/checkpoints'],
    ['hdfs://node:9870/weir/savepoints/savepoint-1', HDFS],
    ['savepoints/savepoint-1/_metadata', HDFS],
  ])('finds %s in %s', (from, storage) => {
    expect(restoreFromOf(from, storage)).toBe('savepoints/savepoint-1')
  })

  it('leaves a number alone: the n-th newest checkpoint', () => {
    expect(restoreFromOf(2, '/data')).toBe(2)
  })

  it.each([
    ['/other/savepoint-1', '/data/checkpoints'],
    ['hdfs://node:9870/weir/s', '/data/checkpoints'],
    ['hdfs://other:9870/weir/s', HDFS],
    ['/weir/s', HDFS],
  ])('refuses %s, which is outside %s', (from, storage) => {
    expect(() => restoreFromOf(from, storage)).toThrow('copy the savepoint folder into it')
  })
})
