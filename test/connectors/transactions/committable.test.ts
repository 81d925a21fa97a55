import { describe, expect, it } from 'vitest'
import {
  decodeCommittable,
  encodeCommittable,
} from '../../../src/connectors/transactions/committable.ts'

describe('a committable', () => {
  const identity = { transactionalId: 'weir/j/s/0/1/2', producerId: 4_097, epoch: 3 }

  const committable = { identity, witness: { topic: 'out', partition: 3, offset: 77 } }

  it('has these bytes', () => {
    expect(Buffer.from(encodeCommittable(committable)).toString('hex')).toBe(
      '0200011000000000000003000e776569722f6a2f732f302f312f32030000004d00000000000000036f7574',
    )
  })

  it('is decoded, also without a witness, and also of version 1', () => {
    expect(decodeCommittable(encodeCommittable(committable))).toEqual(committable)
    const bare = { identity, witness: undefined }
    expect(decodeCommittable(encodeCommittable(bare))).toEqual(bare)
    const first = Buffer.from('0100011000000000000003000e776569722f6a2f732f302f312f32', 'hex')
    expect(decodeCommittable(first)).toEqual(bare)
  })

  it('is refused when it is of another version', () => {
    const encoded = encodeCommittable(committable)
    encoded[0] = 3
    expect(() => decodeCommittable(encoded)).toThrow(/committable 3; this build reads 1 and 2/)
  })
})
