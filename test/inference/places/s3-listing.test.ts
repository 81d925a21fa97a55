import { describe, expect, it } from 'vitest'
import { readS3Listing } from '../../../src/inference/places/s3-listing.ts'

const ORIGIN = 'https://s3.example'

describe('the list of a bucket', () => {
  it('is read with encoded keys, entities and the token of the next page', () => {
    const xml = `<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><EncodingType>url</EncodingType>
<IsTruncated>true</IsTruncated><NextContinuationToken>1/a&amp;b==</NextContinuationToken>
<Contents><Key>nets/a+b%2Bc%26.onnx</Key><ETag>&#34;0af&#x22;</ETag><Size>12</Size></Contents></ListBucketResult>`
    expect(readS3Listing(xml, ORIGIN)).toEqual({
      entries: [{ key: 'nets/a b+c&.onnx', etag: '"0af"', bytes: 12 }],
      next: '1/a&b==',
    })
  })

  it('has the keys as they are where the server does not encode them', () => {
    const xml = `<ListBucketResult><Contents><Key>a+b%2B.onnx</Key><ETag>"1"</ETag><Size>1</Size></Contents></ListBucketResult>`
    expect(readS3Listing(xml, ORIGIN).entries[0]?.key).toBe('a+b%2B.onnx')
  })

  it.each([
    '<html>hello</html>',
    '',
    '<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>',
    '<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>%E0%A4%A</Key><ETag>1</ETag><Size>1</Size></Contents></ListBucketResult>',
  ])('is refused where it is none: %s', (xml) => {
    expect(() => readS3Listing(xml, ORIGIN)).toThrow(
      'S3 (https://s3.example) sent an answer that is no list of a bucket; check AWS_ENDPOINT_URL',
    )
  })

  it('is read in the time of its length, whatever a server sends', () => {
    const entry = '<Contents><Key>a</Key><ETag>"1"</ETag><Size>1</Size></Contents>'
    const open = `<ListBucketResult>${'<Contents>'.repeat(400_000)}`
    const before = process.threadCpuUsage()
    expect(() => readS3Listing(open, ORIGIN)).toThrow('no list of a bucket')
    const many = `<ListBucketResult>${entry.repeat(20_000)}`
    expect(readS3Listing(many, ORIGIN).entries).toHaveLength(20_000)
    const { user, system } = process.threadCpuUsage(before)
    expect((user + system) / 1000).toBeLessThan(5_000)
  })
})
