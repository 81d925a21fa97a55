import { describe, expect, it } from 'vitest'
import { encodeFrame } from '../../../../src/cluster/scale-out/decisions/frame.ts'
import {
  decodeMemberData,
  encodeMemberData,
} from '../../../../src/cluster/scale-out/decisions/member-data.ts'
import { crc32c } from '../../../../src/core/hash/crc32c.ts'
import { commitSeed } from '../../../services/commit-seed.ts'
import { readDamaged } from './hostile-bytes.ts'
import { memberWith } from './members.ts'

const FULL = memberWith({
  address: 'als-1:6123',
  capacity: 4,
  isDraining: true,
  generation: 7,
  owned: [0, 1, 5],
  standbys: [
    { partition: 2, lag: 300 },
    { partition: 7, lag: 0 },
  ],
  refused: [{ partition: 3, retryAfterMs: 60_000 }],
})

/** The bytes of FULL, put together by hand from the drawing. */
const GOLDEN = [
  '57534f4d 01 01 01 52000000 4d000000',
  '05302e312e30 0a616c732d313a36313233',
  '00112233445566778899aabbccddeeff ffeeddccbbaa99887766554433221100',
  '076b61666b612d31 08 8001',
  '04 01 08 03000003 02 02ac02 0400 01 03e0d403',
]
  .join('')
  .replaceAll(' ', '')

/** Bytes of hex digits with their checksum behind. */
function withChecksum(hex: string): Uint8Array {
  const bytes = Buffer.from(`${hex}00000000`, 'hex')
  bytes.writeUInt32LE(crc32c(bytes, 0, bytes.length - 4), bytes.length - 4)
  return new Uint8Array(bytes)
}

describe('user data of a member', () => {
  it('is written byte for byte as it is drawn, and read back', () => {
    const bytes = encodeMemberData(FULL)
    expect(Buffer.from(bytes).toString('hex')).toBe(
      Buffer.from(withChecksum(GOLDEN)).toString('hex'),
    )
    expect(decodeMemberData(bytes)).toEqual(FULL)
    expect(decodeMemberData(encodeMemberData(memberWith()))).toEqual(memberWith())
  })

  it('of the next version is read without its new fields, and of the one after is refused with advice', () => {
    const next = { lowest: 1, highest: 2 }
    const newer = withChecksum(
      GOLDEN.replace('57534f4d010101', '57534f4d020102')
        .replace('52000000', '54000000')
        .concat('abcd'),
    )
    expect(decodeMemberData(newer)).toEqual({ ...FULL, understands: next })
    const after = withChecksum(GOLDEN.replace('57534f4d01', '57534f4d03'))
    expect(() => decodeMemberData(after)).toThrow(
      expect.objectContaining({
        code: 'UNSUPPORTED_VERSION',
        message: 'WSOM has version 3; this build reads 1 to 2. Upgrade one version at a time',
      }),
    )
  })

  it('is refused with any one byte changed, cut short, or longer', () => {
    const bytes = encodeMemberData(FULL)
    const codes = ['MALFORMED_DATA', 'CHECKSUM_MISMATCH', 'UNSUPPORTED_VERSION']
    const refusal = expect.objectContaining({ code: expect.toSatisfy((c) => codes.includes(c)) })
    for (let at = 0; at < bytes.length; at++) {
      const changed = bytes.slice()
      changed[at]! ^= 1 << (at % 8)
      expect(() => decodeMemberData(changed)).toThrow(refusal)
      expect(() => decodeMemberData(bytes.subarray(0, at))).toThrow(refusal)
    }
    expect(() => decodeMemberData(new Uint8Array([...bytes, 0]))).toThrow(refusal)
  })

  it('is a typed error or a member within all limits for damage that the checksum hides', () => {
    const { refused, values } = readDamaged(encodeMemberData(FULL), decodeMemberData, {
      seed: commitSeed(),
      cases: 2_000,
    })
    expect(refused).toBeGreaterThan(150)
    expect(values.length).toBeGreaterThan(3)
    for (const { owned, standbys, refused, job, capacity } of values) {
      for (const list of [
        owned,
        standbys.map((s) => s.partition),
        refused.map((r) => r.partition),
      ]) {
        expect(list).toEqual([...new Set(list)].sort((a, b) => a - b))
        expect(Math.max(-1, ...list)).toBeLessThan(job.partitions)
      }
      expect(job.partitions).toBeLessThanOrEqual(job.maxParallelism)
      expect(capacity).toBeGreaterThan(0)
    }
  })

  it('refuses what it cannot hold when it is written', () => {
    const refusal = expect.objectContaining({ code: 'INVALID_ARGUMENT' })
    expect(() => encodeMemberData(memberWith({ address: 'x'.repeat(256) }))).toThrow(refusal)
    expect(() => encodeMemberData(memberWith({ address: 'köln:1' }))).toThrow(refusal)
    expect(() => encodeMemberData(memberWith({ owned: [2, 2] }))).toThrow(refusal)
    const job = { ...FULL.job, storageId: 'no hex' }
    expect(() => encodeMemberData(memberWith({ job }))).toThrow(refusal)
  })

  it('does not claim partitions without a generation', () => {
    const head = { magic: 'WSOM', version: 1, understands: { lowest: 1, highest: 1 } }
    const body = Buffer.from(GOLDEN.slice(22).replace('040108', '040100'), 'hex')
    const bytes = encodeFrame(head, (out) => out.raw(body))
    expect(() => decodeMemberData(bytes)).toThrow('a member owns without a generation')
  })
})
