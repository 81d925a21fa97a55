import { describe, expect, it } from 'vitest'
import {
  placeInStorage,
  savepointParentOf,
} from '../../../../src/cluster/rest/job/savepoint-place.ts'
import { checkStoragePath } from '../../../../src/runtime/checkpoint/storage/paths.ts'

const HDFS = 'hdfs://namenode:9870/weir?user.name=w'
const S3 = 's3://bucket/weir?region=eu-west-1'

/** The path in checkpoint storage, as the storage takes it. */
const placed = (target: string, storage: string): string =>
  checkStoragePath(savepointParentOf(target, storage))

describe('the folder that a client names for a savepoint', () => {
  it('is a path in the checkpoint storage, or a place within it', () => {
    expect(placed('mine', '/data/checkpoints')).toBe('mine')
    expect(placed('/data/checkpoints/a/b', '/data/checkpoints')).toBe('a/b')
    expect(placed('file:///data/checkpoints/a', 'file:///data/checkpoints')).toBe('a')
    expect(placed('hdfs://namenode:9870/weir/a', HDFS)).toBe('a')
    expect(placed('s3://bucket/weir/a', S3)).toBe('a')
    expect(placeInStorage('a', S3)).toBe('s3://bucket/weir/a?region=eu-west-1')
  })

  it.each([
    ['/etc', '/data/checkpoints'],
    ['/data/checkpoints', '/data/checkpoints'],
    ['/data/checkpoints-not/a', '/data/checkpoints'],
    ['/data/checkpoints/../../etc', '/data/checkpoints'],
    ['../../etc', '/data/checkpoints'],
    ['a/../../../etc', '/data/checkpoints'],
    ['file:///etc', '/data/checkpoints'],
    ['hdfs://evil:9870/weir/a', '/data/checkpoints'],
    ['hdfs://evil:9870/weir/a', HDFS],
    ['hdfs://namenode:9870/weir-not/a', HDFS],
    ['hdfs://namenode:9870/weir/../a', HDFS],
    ['/etc', HDFS],
    ['s3://bucket/weir-not/a', S3],
    ['s3://other/weir/a', S3],
    ['s3://bucket/weir/a', '/data/checkpoints'],
    ['/etc', S3],
    ['http://evil/a', '/data/checkpoints'],
  ])('is nothing outside of it: %s in %s', (target, storage) => {
    expect(() => placed(target, storage)).toThrow()
  })
})
