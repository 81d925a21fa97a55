import { describe, expect, it } from 'vitest'
import {
  readAddresses,
  writeAddresses,
} from '../../../../src/cluster/scale-out/decisions/address-table.ts'
import { ByteReader } from '../../../../src/core/byte-reader.ts'
import { ByteWriter } from '../../../../src/core/byte-writer.ts'
import { seededRandom } from '../../../../src/core/random.ts'
import { commitSeed } from '../../../services/commit-seed.ts'

function bytesOf(addresses: readonly string[]): Uint8Array {
  const out = new ByteWriter()
  writeAddresses(out, addresses)
  return out.toBytes()
}

describe('table of addresses', () => {
  it('takes four bytes for an address that differs from the one before in a letter', () => {
    const one = bytesOf(['als-2.als.prod.svc:6123'])
    const two = bytesOf(['als-2.als.prod.svc:6123', 'als-3.als.prod.svc:6123'])
    expect(two.length - one.length).toBe(4)
  })

  it('gives back any addresses, equal and empty ones too', () => {
    const random = seededRandom(commitSeed())
    for (let n = 0; n < 300; n++) {
      const addresses = Array.from({ length: random.below(8) }, () =>
        Array.from({ length: random.below(6) }, () => 'ab:1'[random.below(4)]).join(''),
      )
      expect(readAddresses(new ByteReader(bytesOf(addresses)))).toEqual(addresses)
    }
  })

  it('refuses an address that shares more with the one before than there is, or that grows without end', () => {
    const shares = [2, 0, 0, 2, 97, 98, 2, 1, 0]
    expect(() => readAddresses(new ByteReader(new Uint8Array(shares)))).toThrow(
      expect.objectContaining({
        code: 'MALFORMED_DATA',
        message: 'address 1 shares more than there is',
      }),
    )
    const long = [1, 0, 0, 0x80, 2, ...Array<number>(256).fill(97)]
    expect(() => readAddresses(new ByteReader(new Uint8Array(long)))).toThrow('address 0 has 256')
  })
})
