import { expect, it } from 'vitest'
import {
  checkGroupRecord,
  groupRecordBytes,
} from '../../../../src/connectors/kafka/group/record-size.ts'

const member = (i: number, assignment: number) => ({
  memberId: `weir-00000000-0000-0000-0000-0000000000${String(i).padStart(2, '0')}`,
  groupInstanceId: undefined,
  subscription: new Uint8Array(200),
  assignment: new Uint8Array(assignment),
})

/** Bytes of a record as Kafka 4.3's GroupMetadataValue, version 3, has them: field by field. */
function storedBytes(members: readonly ReturnType<typeof member>[]): number {
  const header = 2 + (2 + 'consumer'.length) + 4 + (2 + 'weir'.length) + (2 + 41) + 8 + 4
  return members.reduce(
    (sum, { memberId, subscription, assignment }) =>
      sum +
      (2 + memberId.length) +
      2 +
      (2 + 'weir'.length) +
      (2 + '/255.255.255.255'.length) +
      8 +
      (4 + subscription.length) +
      (4 + assignment.length),
    header,
  )
}

it('the record of a group is never larger than it is taken for, and not by much', () => {
  for (const count of [1, 20, 100]) {
    const members = Array.from({ length: count }, (_, i) => member(i, 100))
    const bytes = groupRecordBytes(members)
    expect(bytes).toBeGreaterThanOrEqual(storedBytes(members))
    expect(bytes - storedBytes(members)).toBeLessThan(600 + 160 * count)
  }
})

it('100 members with 20 kB each are refused, with the sizes in the sentence', () => {
  const members = Array.from({ length: 100 }, (_, i) => member(i, 20_000))
  expect(() => checkGroupRecord('g', members, 1_000_000)).toThrow(
    /^the record of group "g" would have 20\d{5} bytes \(100 members, 20000 bytes of what they say, 2000000 bytes of what they get\), and the broker stores at most 1000000: lower the number of processes or of partitions, or raise message\.max\.bytes/,
  )
  const small = Array.from({ length: 100 }, (_, i) => member(i, 9_000))
  expect(() => checkGroupRecord('g', small, 1_000_000)).not.toThrow()
})
