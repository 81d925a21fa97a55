import { WeirError } from '../../../core/errors.ts'

/** A member as the broker stores it in the record of its group. */
export interface StoredMember {
  readonly memberId: string
  readonly groupInstanceId: string | undefined
  readonly subscription: Uint8Array
  readonly assignment: Uint8Array
}

/** Bytes of a record without members: names and numbers, and its place in a batch. */
const RECORD_BYTES = 512
/** Bytes of a member beside its names, subscription and assignment: timeouts, client id and host, lengths. */
const MEMBER_BYTES = 160

/** Bytes of the record in which a broker stores a group, at most: Kafka's `GroupMetadataValue`. */
export function groupRecordBytes(members: readonly StoredMember[]): number {
  let bytes = RECORD_BYTES
  for (const { memberId, groupInstanceId = '', subscription, assignment } of members) {
    const names = Buffer.byteLength(memberId) + Buffer.byteLength(groupInstanceId)
    bytes += MEMBER_BYTES + names + subscription.length + assignment.length
  }
  return bytes
}

/**
 * Throws FRAME_TOO_LARGE when a broker would not store the group. It would then answer no member with a reason, and the
 * group would never settle.
 */
export function checkGroupRecord(
  groupId: string,
  members: readonly StoredMember[],
  maxRecordBytes: number,
): void {
  const bytes = groupRecordBytes(members)
  if (bytes <= maxRecordBytes) return
  const sum = (part: (member: StoredMember) => number): number =>
    members.reduce((total, member) => total + part(member), 0)
  const subscriptions = sum(({ subscription }) => subscription.length)
  const assignments = sum(({ assignment }) => assignment.length)
  const message = `the record of group "${groupId}" would have ${bytes} bytes (${members.length} members, ${subscriptions} bytes of what they say, ${assignments} bytes of what they get), and the broker stores at most ${maxRecordBytes}: lower the number of processes or of partitions, or raise message.max.bytes of the brokers`
  throw new WeirError('FRAME_TOO_LARGE', message, {
    details: { bytes, maxRecordBytes, members: members.length, subscriptions, assignments },
  })
}
