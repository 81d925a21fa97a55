import { describe, expect, it } from 'vitest'
import { restoreFromOf } from '../../../src/runtime/job/restore-from.ts'

const HDFS = 'hdfs://node:9870/weir?user.name=weir'
const S3 = 's3://bucket/weir?region=eu-west-1'

describe('restoreFromOf', () => {
  it.each([
    ['/data/checkpoints/savepoints/savepoint-1', '/data/checkpoints'],
    ['/data/checkpoints/savepoints/savepoint-1/_metadata', '/data/checkpoints/'],
    ['file:///data/checkpoints/savepoints/savepoint-1/', 'file:///data/checkpoints'],
    ['savepoints/savepoint-1', '/data/checkpoints'],
    ['data/checkpoints/savepoints/savepoint-1', 'data/checkpoints'],
    ['hdfs://node:9870/weir/savepoints/savepoint-1', HDFS],
    ['savepoints/savepoint-1/_metadata', HDFS],
    ['s3://bucket/weir/savepoints/savepoint-1', S3],
    ['s3://bucket/weir/savepoints/savepoint-1/_metadata', S3],
    ['savepoints/savepoint-1', S3],
    ['s3://bucket/weir/savepoints/savepoint-1/_metadata?region=eu-west-1', S3],
    ['hdfs://node:9870/weir/savepoints/savepoint-1/_metadata?user.name=weir', HDFS],
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
    ['s3://bucket/other/s', S3],
    ['s3://bucket/weir/s', '/data/checkpoints'],
  ])('refuses %s, which is outside %s', (from, storage) => {
    expect(() => restoreFromOf(from, storage)).toThrow('copy the savepoint folder into it')
  })
})
