import { describe, expect, it } from 'vitest'
import { signedHeaders } from '../../../src/inference/places/s3-signature.ts'

/** The examples of AWS: https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html */
const EXAMPLE = {
  credentials: {
    accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    sessionToken: undefined,
  },
  region: 'us-east-1',
  nowMs: Date.UTC(2013, 4, 24),
}
const HOST = 'https://examplebucket.s3.amazonaws.com'

describe('a signed request to S3', () => {
  it.each([
    [
      '/test.txt',
      { range: 'bytes=0-9' },
      'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    ],
    ['/?lifecycle', {}, 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543'],
    [
      '/?max-keys=2&prefix=J',
      {},
      '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
    ],
  ])('has the signature of the example %s', (path, headers, signature) => {
    const signed = signedHeaders({ ...EXAMPLE, url: new URL(path, HOST), headers })
    expect(signed['authorization']).toContain(
      'Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=host;',
    )
    expect(signed['authorization']?.split('Signature=')[1]).toBe(signature)
  })

  it('signs the token of temporary credentials, too', () => {
    const credentials = { ...EXAMPLE.credentials, sessionToken: 'token' }
    const signed = signedHeaders({ ...EXAMPLE, credentials, url: new URL('/a', HOST), headers: {} })
    expect(signed['x-amz-security-token']).toBe('token')
    expect(signed['authorization']).toContain('x-amz-date;x-amz-security-token,')
  })
})
