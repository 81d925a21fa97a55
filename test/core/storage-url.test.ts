import { describe, expect, it } from 'vitest'
import { parseFilesUrl, parseStorageUrl } from '../../src/core/storage-url.ts'

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

  it('of a bucket is kept whole', () => {
    const url = 's3://bucket/weir?region=eu-west-1'
    expect(parseStorageUrl(url)).toEqual({ kind: 's3', url })
  })

  it.each(['gs://bucket/weir', 'webhdfs://n/', 'hdfs:/weir', 's3:/bucket'])(
    '%s is not supported, and those that are are named',
    (text) => {
      const message = expect.stringMatching(/path, a file:.* hdfs:.* s3:/)
      expect(() => parseStorageUrl(text)).toThrow(
        expect.objectContaining({ code: 'UNSUPPORTED', message }),
      )
    },
  )

  it('of a bucket is none of files', () => {
    expect(parseFilesUrl('hdfs://n/a')).toEqual({ kind: 'hdfs', url: 'hdfs://n/a' })
    expect(() => parseFilesUrl('s3://bucket/ratings')).toThrow(
      expect.objectContaining({
        code: 'UNSUPPORTED',
        message: expect.stringContaining('S3 is for checkpoints'),
      }),
    )
  })

  it('of another machine is refused', () => {
    expect(() => parseStorageUrl('file://elsewhere/var/weir')).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
  })
})
