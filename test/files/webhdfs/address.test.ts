import { describe, expect, it } from 'vitest'
import { parseWebHdfsUrl } from '../../../src/files/webhdfs/address.ts'

describe('an HDFS URL', () => {
  it('names NameNodes, path and user', () => {
    expect(
      parseWebHdfsUrl('hdfs://nn1.example:9871,nn2.example/weir/a%20b/?user.name=ada'),
    ).toEqual({
      nameNodes: [
        { host: 'nn1.example', port: 9871 },
        { host: 'nn2.example', port: 9870 },
      ],
      path: '/weir/a b',
      user: 'ada',
      tokenFile: undefined,
      replication: undefined,
      timeoutMs: undefined,
    })
  })

  it('can have the root, an IPv6 address and every setting', () => {
    expect(
      parseWebHdfsUrl('hdfs://[::1]:50070?token-file=/run/t&replication=2&timeout-ms=900'),
    ).toEqual({
      nameNodes: [{ host: '::1', port: 50_070 }],
      path: '/',
      user: undefined,
      tokenFile: '/run/t',
      replication: 2,
      timeoutMs: 900,
    })
  })

  it.each([
    ['hdfs:///weir', 'host:port'],
    ['hdfs://n:0/weir', 'port of its web interface'],
    ['hdfs://n:70000/', 'port of its web interface'],
    ['hdfs://n,,m/', 'host:port'],
    ['hdfs://u:p@n:1/', 'host:port'],
    ['hdfs://n/../etc', '".."'],
    ['hdfs://n/%zz', 'percent-encoded'],
    ['hdfs://n/a?username=x', 'no setting "username"'],
    ['hdfs://n/a?replication=0', 'replication'],
    ['hdfs://n/a?timeout-ms=5s', 'timeout-ms'],
  ])('is refused when it is %s', (url, said) => {
    expect(() => parseWebHdfsUrl(url)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining(said),
      }),
    )
  })
})
