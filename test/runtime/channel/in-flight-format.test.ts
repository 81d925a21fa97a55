import { describe, expect, it } from 'vitest'
import { decodeInFlight, encodeInFlight } from '../../../src/runtime/channel/in-flight-format.ts'

const IN_FLIGHT = {
  edge: '["ops",0,null]',
  serializer: 'msgpack/1',
  records: [
    {
      key: new Uint8Array([1, 2]),
      value: new Uint8Array([3]),
      timestamp: 1_700_000_000_000,
      position: { source: 1, partition: 2, offset: 2 ** 40 },
    },
    {
      key: undefined,
      value: new Uint8Array([4, 5, 6]),
      timestamp: -1,
      position: { source: 0, partition: -1, offset: 0 },
    },
  ],
}

describe('the format of records in flight', () => {
  it('decodes what it encoded', () => {
    expect(decodeInFlight(encodeInFlight(IN_FLIGHT))).toEqual(IN_FLIGHT)
  })

  it('encodes to these bytes', () => {
    expect(Buffer.from(encodeInFlight(IN_FLIGHT)).toString('hex')).toMatchInlineSnapshot(
      `"010e5b226f7073222c302c6e756c6c5d096d73677061636b2f31020000000100008056febc784201020000000000000000007042020102010300000000000000f0bf00ffffffff00000000000000000304050665083f1c"`,
    )
  })

  it('detects every damaged byte and every truncation', () => {
    const good = encodeInFlight(IN_FLIGHT)
    for (let i = 0; i < good.length; i++) {
      const bad = good.slice()
      bad[i]! ^= 0x10
      expect(() => decodeInFlight(bad), `byte ${i}`).toThrow('differ from their checksum')
      expect(() => decodeInFlight(good.subarray(0, i)), `length ${i}`).toThrow()
    }
  })
})
