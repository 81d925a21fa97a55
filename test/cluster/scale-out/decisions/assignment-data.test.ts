import { describe, expect, it } from 'vitest'
import {
  type Assignment,
  decodeAssignment,
  encodeAssignment,
  refusedAssignment,
} from '../../../../src/cluster/scale-out/decisions/assignment-data.ts'
import { encodeMemberData } from '../../../../src/cluster/scale-out/decisions/member-data.ts'
import { planRound } from '../../../../src/cluster/scale-out/decisions/plan-round.ts'
import { seededRandom } from '../../../../src/core/random.ts'
import { commitSeed } from '../../../services/commit-seed.ts'
import { readDamaged } from './hostile-bytes.ts'
import { jobOf, memberWith } from './members.ts'

const V1 = { version: 1, understands: { lowest: 1, highest: 1 } }

const FULL: Assignment = {
  joinId: 77,
  identity: 0xaabbccdd,
  epoch: 41,
  refusal: undefined,
  active: [0, 2],
  release: [3],
  standby: [1],
  warmUp: [],
  self: 1,
  map: {
    addresses: ['als-0.als:6123', 'als-1.als:6123', ''],
    owners: [1, 0, 1, 1, -1],
    standbys: [[], [1, 2], [0], [], []],
  },
}

/** Body of FULL, put together by hand from the drawing. */
const GOLDEN = [
  '4d000000 ddccbbaa 2a 00 05 020001 0103 0101 00 02',
  `03 0000 0e ${Buffer.from('als-0.als:6123').toString('hex')} 0409 01 31 0000 00`,
  '0201020200 02 0002010000 0003000000',
]
  .join('')
  .replaceAll(' ', '')

describe('user data of an assignment', () => {
  it('is written byte for byte as it is drawn, and read back', () => {
    const bytes = encodeAssignment(FULL, V1)
    expect(Buffer.from(bytes.subarray(11, -4)).toString('hex')).toBe(GOLDEN)
    expect(Buffer.from(bytes.subarray(0, 7)).toString('hex')).toBe('57534f41010101')
    expect(decodeAssignment(bytes)).toEqual(FULL)
    expect(bytes).toHaveLength(15 + GOLDEN.length / 2)
  })

  it('of a refused process has the reason and no map', () => {
    const refused = refusedAssignment(
      { joinId: 1, epoch: undefined },
      { reason: 'storage', text: 'other folders' },
    )
    expect(decodeAssignment(encodeAssignment(refused, V1))).toEqual(refused)
  })

  it('is a typed error or an assignment within all limits for damage that the checksum hides', () => {
    const { refused, values } = readDamaged(encodeAssignment(FULL, V1), decodeAssignment, {
      seed: commitSeed(),
      cases: 2_000,
    })
    expect(refused).toBeGreaterThan(150)
    expect(values.length).toBeGreaterThan(3)
    for (const { map, active, release, standby, warmUp, self } of values) {
      const partitions = map.owners.length
      expect(Math.max(-1, ...active, ...release, ...standby, ...warmUp)).toBeLessThan(
        Math.max(1, partitions),
      )
      const places = [...map.owners, ...map.standbys.flat(), self ?? -1]
      expect(Math.max(-1, ...places)).toBeLessThan(Math.max(1, map.addresses.length))
      expect(map.standbys).toHaveLength(partitions)
    }
  })

  it.each([
    ['pods', (n: number) => `als-serving-${n}.als-serving.production.svc.cluster.local:6123`],
    ['addresses', (n: number) => `10.${n % 7}.${(n * 37) % 256}.${(n * 91) % 256}:6123`],
  ])(
    'has at most 4 kB for each of 100 %s that share 1,024 partitions with a standby each',
    (_, address) => {
      const random = seededRandom(commitSeed())
      const members = Array.from({ length: 100 }, () => ({ owned: [] as number[] }))
      for (let partition = 0; partition < 1_024; partition++) {
        members[random.below(100)]!.owned.push(partition)
      }
      const joined = members.map(({ owned }, n) => ({
        memberId: `als-serving-${n}-2a4f1c7e-90aa-4f0e-8d43-5b8f6c1d2e3f`,
        userData: encodeMemberData(
          memberWith({ address: address(n), job: jobOf(1_024), owned, capacity: 4 }),
        ),
      }))
      const rules = { standbyReplicas: 1, acceptableLag: 1_000, maxWarmUps: 2 }
      const shares = [...planRound(joined, { generation: 3, rules }).values()]
      const largest = Math.max(...shares.map(({ userData }) => userData.length))
      expect(largest).toBeLessThan(4_096)
      const said = joined.reduce((sum, { userData }) => sum + userData.length, 0)
      const given = shares.reduce((sum, { userData }) => sum + userData.length, 0)
      expect(said + given).toBeLessThan(600_000)
      const { map } = decodeAssignment(shares[0]!.userData)
      expect(map.owners).not.toContain(-1)
      expect(map.standbys.every((standbys) => standbys.length === 1)).toBe(true)
    },
  )
})
