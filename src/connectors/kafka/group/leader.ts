import { requireArgument } from '../../../core/errors.ts'
import { decodeSubscription, encodeAssignment } from './envelope.ts'
import type { AssignMembers } from './member.ts'
import type { CheckedMemberOptions } from './options.ts'
import { checkGroupRecord, type StoredMember } from './record-size.ts'

/** A member as the coordinator names it to the leader. */
export type JoinedMember = Omit<StoredMember, 'assignment'>

/**
 * What the leader of a round sends: the assignment of each member, in bytes. A member that `assign` leaves out gets
 * nothing. Throws MALFORMED_DATA when a member's bytes are not its own format, INVALID_ARGUMENT for a member that is not
 * there, FRAME_TOO_LARGE when a broker would not store them.
 */
export function encodedAssignments(
  members: readonly JoinedMember[],
  assign: AssignMembers,
  { groupId, maxRecordBytes }: Pick<CheckedMemberOptions, 'groupId' | 'maxRecordBytes'>,
): readonly StoredMember[] {
  const given = assign(
    members.map(({ memberId, groupInstanceId, subscription }) => ({
      memberId,
      groupInstanceId,
      userData: decodeSubscription(subscription, `member ${memberId}`).userData,
    })),
  )
  const left = new Set(given.keys())
  const stored = members.map((member) => {
    const { topicPartitions = new Map(), userData = new Uint8Array(0) } =
      given.get(member.memberId) ?? {}
    left.delete(member.memberId)
    return { ...member, assignment: encodeAssignment({ topicPartitions, userData }) }
  })
  const [stranger] = left
  requireArgument(
    stranger === undefined,
    `the assignment of group "${groupId}" names ${stranger}, which is no member of this round`,
  )
  checkGroupRecord(groupId, stored, maxRecordBytes)
  return stored
}
