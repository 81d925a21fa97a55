import { describe, expect, it } from 'vitest'
import { parseStorageUrl } from '../../src/core/storage-url.ts'

describe('a storage URL', () => {
  it.each([
    ['/var/weir', '/var/weir'],
    ['data/ratings:2020.csv', 'data/ratings:2020.csv'],
    ['file:///var/my%20weir', '/var/my weir'],
    ['/hdfs://n', '/hdfs://n'],
  ])('%s is a path of this machine', (text, path) => {
    expect(parseStorageUrl(text)).toEqual({ kind: 'local', path })
  })

  it('of HDFS is kept whole', () => {
    const url = 'hdfs://n:9870/weir?user.name=u'
    expect(parseStorageUrl(url)).toEqual({ kind: 'hdfs', url })
  })

  it.each(['s3://bucket/weir', 'webhdfs://n/', 'hdfs:/weir'])('%s is not supported', (text) => {
    expect(() => parseStorageUrl(text)).toThrow(expect.objectContaining({ code: 'UNSUPPORTED' }))
  })

  it('of another machine is refused', () => {
    expect(() => parseStorageUrl('file://elsewhere/var/weir')).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
  })
})
