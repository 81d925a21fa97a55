import { requireArgument } from '../../../core/errors.ts'
import { count, kindOf, name, positiveMilliseconds, required } from '../../../core/options/kinds.ts'
import { checkOptions, type OptionShape } from '../../../core/options/shape.ts'

/** Options of a member of a group. */
export interface GroupMemberOptions {
  readonly groupId: string
  /** Silence after which the coordinator removes a member, ms; default 10,000. The broker bounds it, by 6 s and 30 min by default. */
  readonly sessionTimeoutMs?: number
  /** Time in which each member must come to a new round, ms; default 30,000. A member that does not is removed. */
  readonly rebalanceTimeoutMs?: number
  /** Time between two heartbeats, which the caller sends, ms; default 3,000. It is at most half of the session. */
  readonly heartbeatIntervalMs?: number
  /** Name that this process keeps over restarts: it returns into its place without a round. */
  readonly groupInstanceId?: string
  /** Name of the protocol, which all members have; default `weir`. */
  readonly protocolName?: string
  /** Topics whose committed offsets tools do not delete while the group has members; default none. */
  readonly topics?: readonly string[]
  /** Largest record of the group that the broker stores, bytes; default 1,000,000, below the default of `message.max.bytes`. */
  readonly maxRecordBytes?: number
}

const topicNames = kindOf<readonly string[]>(
  'a list of topic names',
  (value) =>
    Array.isArray(value) && value.every((topic) => typeof topic === 'string' && topic !== ''),
)

const SHAPE: OptionShape<GroupMemberOptions> = {
  groupId: required(name),
  sessionTimeoutMs: positiveMilliseconds,
  rebalanceTimeoutMs: positiveMilliseconds,
  heartbeatIntervalMs: positiveMilliseconds,
  groupInstanceId: name,
  protocolName: name,
  topics: topicNames,
  maxRecordBytes: count,
}

/** Options of a member with their defaults. */
export type CheckedMemberOptions = Required<Omit<GroupMemberOptions, 'groupInstanceId'>> &
  Pick<GroupMemberOptions, 'groupInstanceId'>

/** The options with their defaults. Throws INVALID_ARGUMENT. */
export function checkedMemberOptions(options: GroupMemberOptions): CheckedMemberOptions {
  checkOptions('groupMember', SHAPE, options)
  const checked = {
    sessionTimeoutMs: 10_000,
    rebalanceTimeoutMs: 30_000,
    heartbeatIntervalMs: 3_000,
    protocolName: 'weir',
    topics: [],
    maxRecordBytes: 1_000_000,
    ...options,
  }
  const { sessionTimeoutMs, heartbeatIntervalMs } = checked
  requireArgument(
    heartbeatIntervalMs * 2 <= sessionTimeoutMs,
    `a heartbeat each ${heartbeatIntervalMs} ms does not fit into a session of ${sessionTimeoutMs} ms: the group would remove members that live; set heartbeatIntervalMs to a third of sessionTimeoutMs`,
  )
  return checked
}
