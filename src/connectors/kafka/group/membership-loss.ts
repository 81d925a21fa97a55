import { isWeirError, WeirError } from '../../../core/errors.ts'

/**
 * Why a process is no member of the generation that it thinks it is in. `fenced`: another process has joined under the
 * same instance id. `unknown-member`: the group removed it, by its session's end or by another member.
 * `illegal-generation`: the group has a newer generation. `rebalancing`: the group prepares one.
 */
export type GroupLoss = 'fenced' | 'unknown-member' | 'illegal-generation' | 'rebalancing'

/** What follows from each loss, for messages. */
const MEANINGS: Readonly<Record<GroupLoss, string>> = {
  fenced: 'another process has joined with the same group.instance.id; give each process its own',
  'unknown-member':
    'the group has removed this member, after a session without a heartbeat or by another member; it must join again',
  'illegal-generation': 'the group has a newer generation; the member must join again',
  rebalancing: 'the group prepares a new generation; the member must join again',
}

/** The loss of a place in a group: MEMBERSHIP_LOST, with the reason. */
export class GroupError extends WeirError {
  readonly loss: GroupLoss

  /** `doing`: the operation in words. */
  constructor(loss: GroupLoss, doing: string) {
    super('MEMBERSHIP_LOST', `${doing}: ${MEANINGS[loss]}`, { details: { loss } })
    this.loss = loss
  }
}

/** Whether an error is the loss of a place in a group, for `loss` if one is given. */
export function isGroupError(error: unknown, loss?: GroupLoss): error is GroupError {
  if (!isWeirError(error, 'MEMBERSHIP_LOST')) return false
  return loss === undefined || error.details['loss'] === loss
}
