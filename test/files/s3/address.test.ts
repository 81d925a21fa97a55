import { describe, expect, it } from 'vitest'
import { parseS3Url, s3HostOf } from '../../../src/files/s3/address.ts'

describe('an S3 URL', () => {
  it('has bucket, prefix and settings', () => {
    const url =
      's3://my-bucket/weir/a%20b/?endpoint=https://minio:9000&region=eu-west-1&path-style=false&timeout-ms=5000'
    expect(parseS3Url(url)).toEqual({
      bucket: 'my-bucket',
      prefix: 'weir/a b',
      endpoint: 'https://minio:9000',
      region: 'eu-west-1',
      pathStyle: false,
      timeoutMs: 5000,
    })
  })

  it.each(['s3://bucket', 's3://bucket/', 's3://bucket//'])('%s is a whole bucket', (url) => {
    expect(parseS3Url(url)).toMatchObject({ bucket: 'bucket', prefix: '', endpoint: undefined })
  })

  it.each([
    ['s3://', 'is not an S3 URL'],
    ['s3://Bucket/x', 'small letters'],
    ['s3://b/x', 'is not an S3 URL'],
    ['s3:/bucket/x', 'is not an S3 URL'],
    ['s3://user:pass@bucket/x', 'is not an S3 URL'],
    ['s3://bucket/a/../b', 'is not a prefix'],
    ['s3://bucket/.tmp', 'is not a prefix'],
    ['s3://bucket/%zz', 'is not a prefix'],
    ['s3://bucket/x?endpoint=minio:9000', 'http://HOST:PORT'],
    ['s3://bucket/x?endpoint=http://id:secret@minio', 'without a user'],
    ['s3://bucket/x?endpoint=http://minio%3Ftoken=secret', 'and a query'],
    ['s3://bucket/x?region=EU West', 'eu-central-1'],
    ['s3://bucket/x?path-style=yes', 'true or false'],
    ['s3://bucket/x?timeout-ms=0', 'a number from 1'],
    ['s3://bucket/x?access-key=secret', 'credentials come from the environment'],
  ])('%s is refused, without a secret in the message', (url, said) => {
    const error = expect.objectContaining({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(said),
    })
    expect(() => parseS3Url(url)).toThrow(error)
    expect(() => parseS3Url(url)).not.toThrow('secret')
  })

  it.each([
    ['s3://bucket/x', 'bucket.s3.amazonaws.com:443'],
    ['s3://bucket/x?region=eu-west-1', 'bucket.s3.amazonaws.com:443'],
    ['s3://bucket/x?endpoint=http://minio', 'minio:80'],
    ['s3://bucket/x?endpoint=https://minio/path', 'minio:443'],
    ['s3://bucket/x?endpoint=http://[::1]:9000', '::1:9000'],
  ])('%s is served by %s', (url, host) => {
    expect(s3HostOf(parseS3Url(url))).toBe(host)
  })
})
