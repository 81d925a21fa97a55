import type { TransactionIdentity } from '../../../../src/connectors/kafka/client/identity.ts'
import {
  type CommittedPartition,
  type CommittedPartitions,
  checkCommit,
  DEFAULT_METADATA_BYTES,
  type GroupCommits,
  type TransactionalCommit,
} from '../../../../src/connectors/kafka/group/commits.ts'
import type { TopicPartitions } from '../../../../src/connectors/kafka/group/envelope.ts'
import type { GroupMemberOptions } from '../../../../src/connectors/kafka/group/options.ts'
import type { Clock } from '../../../../src/core/clock.ts'
import { WeirError } from '../../../../src/core/errors.ts'
import { SimulatedGroup } from './simulated-group.ts'
import { SimulatedMember } from './simulated-member.ts'

/** A transactional id: its last user, and the offsets of its open transaction by group. */
interface Transactional {
  readonly producerId: number
  epoch: number
  readonly open: Map<string, Map<string, CommittedPartition>>
}

/**
 * A simulated coordinator of groups and transactions, whose time is that of a clock: generations, sessions, removals,
 * fenced instances and transactions, and offsets that are unstable.
 */
export class SimulatedCoordinator {
  private readonly clock: Clock
  private readonly groups = new Map<string, SimulatedGroup>()
  private readonly transactionals = new Map<string, Transactional>()
  private readonly committed = new Map<string, Map<string, CommittedPartition>>()
  private members = 0

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** A group; it is empty before the first member. */
  group(groupId: string): SimulatedGroup {
    return at(this.groups, groupId, () => new SimulatedGroup(this.clock, () => this.newMemberId()))
  }

  /** A member, which has not joined. */
  member(options: GroupMemberOptions): SimulatedMember {
    return new SimulatedMember(this.group(options.groupId), options)
  }

  /** The offsets of a group. */
  commits(groupId: string): GroupCommits {
    return {
      commit: async (commit) => this.commit(groupId, commit),
      fetch: async (partitions) => this.fetch(groupId, partitions),
    }
  }

  /** A new user of a transactional id; the transaction of the one before is aborted. */
  producer(transactionalId: string): TransactionIdentity {
    const producerId = this.transactionals.size + 1
    const found = at(this.transactionals, transactionalId, () => ({
      ...{ producerId, epoch: -1, open: new Map() },
    }))
    found.open.clear()
    found.epoch += 1
    return { transactionalId, producerId: found.producerId, epoch: found.epoch }
  }

  /** Ends a transaction. Throws TRANSACTION_FENCED. */
  end(identity: TransactionIdentity, commit: boolean): void {
    const { open } = this.transactional(identity)
    for (const [groupId, offsets] of open) {
      if (!commit) continue
      const committed = at(this.committed, groupId, () => new Map())
      for (const [partition, one] of offsets) committed.set(partition, one)
    }
    open.clear()
  }

  private commit(groupId: string, commit: TransactionalCommit): void {
    checkCommit(groupId, commit, DEFAULT_METADATA_BYTES)
    const { open } = this.transactional(commit.transaction)
    const { memberId, generationId } = commit.member
    this.group(groupId).check({ memberId, generationId, groupInstanceId: commit.groupInstanceId })
    const pending = at(open, groupId, () => new Map())
    for (const [topic, partitions] of commit.offsets) {
      for (const { partition, nextOffset, metadata } of partitions) {
        pending.set(`${topic}/${partition}`, { nextOffset, metadata })
      }
    }
  }

  private fetch(groupId: string, topics: TopicPartitions): CommittedPartitions {
    const pending = [...this.transactionals.values()].map(({ open }) => open.get(groupId))
    const one = (name: string): CommittedPartition => {
      if (pending.some((offsets) => offsets?.has(name))) return 'unstable'
      return this.committed.get(groupId)?.get(name) ?? 'none'
    }
    return new Map(
      [...topics].map(([topic, partitions]) => [
        topic,
        new Map(partitions.map((partition) => [partition, one(`${topic}/${partition}`)])),
      ]),
    )
  }

  private transactional({ transactionalId, epoch }: TransactionIdentity): Transactional {
    const found = this.transactionals.get(transactionalId)
    if (found?.epoch === epoch) return found
    throw new WeirError('TRANSACTION_FENCED', `"${transactionalId}" has a newer user`)
  }

  private newMemberId(): string {
    this.members += 1
    return `member-${this.members}`
  }
}

/** The value of a key, which is made if there is none. */
function at<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key) ?? make()
  map.set(key, found)
  return found
}
