import type { TopicPartitions } from './envelope.ts'

/** What the leader of a round knows of a member. */
export interface MemberData {
  readonly memberId: string
  /** Name that the process keeps over restarts; undefined if it has none. */
  readonly groupInstanceId: string | undefined
  /** What the member gave to `join`. */
  readonly userData: Uint8Array
}

/** What the leader of a round gives to a member. */
export interface MemberAssignment {
  /** Partitions that tools of Kafka show as the member's. */
  readonly topicPartitions: TopicPartitions
  readonly userData: Uint8Array
}

/** A membership: one member in one round of its group. Commits are accepted under no other. */
export interface Generation {
  readonly memberId: string
  /** Number that grows with each round. */
  readonly generationId: number
  readonly isLeader: boolean
  readonly leaderId: string
  readonly assignment: MemberAssignment
}

/** The leader's decision: what each member gets. It is pure; a member that it leaves out gets nothing. */
export type AssignMembers = (
  members: readonly MemberData[],
) => ReadonlyMap<string, MemberAssignment>

/** The port to the membership of this process in a group, of which it is a member at most once. */
export interface GroupMember {
  /** The membership of the last round that ended well; undefined before, and after it was lost or left. */
  readonly generation: Generation | undefined
  /**
   * One round of the group: resolves when the leader has assigned. `assign` runs only if this member leads, and then
   * its errors reject the call; the others wait until the leader joins again or its time is over. A member that the
   * group has removed comes back under a new member id. Throws GroupError for a fenced instance, ILLEGAL_STATE
   * while another call of `join` waits or after `close`, MALFORMED_DATA for a foreign member, FRAME_TOO_LARGE for
   * assignments that the broker would not store, and CONNECTOR_FAILED when the group does not settle in time.
   */
  join(userData: Uint8Array, assign: AssignMembers): Promise<Generation>
  /**
   * Renews the session, also while a round waits. `rebalancing`: join again; until then, commits under this generation
   * are accepted. A heartbeat that the coordinator does not answer is repeated within the call, so that a lease counts
   * from the call's begin. Throws
   * GroupError when the membership is lost, and CONNECTOR_FAILED when no coordinator answers within a session.
   */
  heartbeat(): Promise<'stable' | 'rebalancing'>
  /** Leaves the group, whose others assign again at their next heartbeats. Without a membership it does nothing. */
  leave(): Promise<void>
  /** Removes another member, whose process is known to be gone. It is no error if the group does not have it. */
  remove(memberId: string): Promise<void>
  /** Ends waiting calls and the connections. The session goes on until its timeout: `leave` ends it. */
  close(): Promise<void>
}
