import type { TransactionIdentity } from '../../src/connectors/kafka/client/identity.ts'
import type { GroupCommits } from '../../src/connectors/kafka/group/commits.ts'
import type {
  AssignMembers,
  Generation,
  GroupMember,
  MemberData,
} from '../../src/connectors/kafka/group/member.ts'
import { isGroupError } from '../../src/connectors/kafka/group/membership-loss.ts'
import type { GroupMemberOptions } from '../../src/connectors/kafka/group/options.ts'

/** A group coordinator under test. */
export interface GroupWorld {
  /** A topic with 24 partitions. */
  readonly topic: string
  /** A name of a group that no other test has. */
  newGroup(): string
  member(options: GroupMemberOptions): GroupMember
  commits(groupId: string): GroupCommits
  /** A new user of a transactional id: it ends the transaction of the one before. */
  producer(transactionalId: string): Promise<TransactionIdentity>
  /** Ends a transaction. */
  end(transaction: TransactionIdentity, commit: boolean): Promise<void>
  /** Waits for a condition, while time goes on. */
  until(what: string, condition: () => boolean | Promise<boolean>): Promise<void>
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** What a process says of itself, and what it gets. */
export const bytesOf = (text: string): Uint8Array => encoder.encode(text)
/** The text in user data. */
export const textOf = (bytes: Uint8Array): string => decoder.decode(bytes)

/** Partition i of the topic for the i-th of the names of all processes, and these names for each. */
export const assignInOrder =
  (topic: string): AssignMembers =>
  (members) => {
    const sorted = [...members].sort((a, b) => (textOf(a.userData) < textOf(b.userData) ? -1 : 1))
    const names = sorted.map(({ userData }) => textOf(userData)).join(',')
    return new Map(
      sorted.map(({ memberId }, i) => [
        memberId,
        { topicPartitions: new Map([[topic, [i]]]), userData: bytesOf(names) },
      ]),
    )
  }

/** A process as it will use the port: it heartbeats, and joins again when the group says so. */
export class Process {
  readonly name: string
  readonly member: GroupMember
  /** Results of its rounds, in order. */
  readonly rounds: Generation[] = []
  /** What its last round as a leader was about. */
  led: readonly MemberData[] = []
  /** Losses that it heard of. */
  readonly losses: string[] = []
  private readonly topic: string
  private joining: Promise<void> | undefined
  private failure: unknown

  constructor(
    world: GroupWorld,
    groupId: string,
    name: string,
    options: Partial<GroupMemberOptions> = {},
  ) {
    this.name = name
    this.topic = world.topic
    // A machine that is busy for some seconds ends no session.
    const patient = { sessionTimeoutMs: 60_000, rebalanceTimeoutMs: 120_000 }
    this.member = world.member({ groupId, topics: [world.topic], ...patient, ...options })
  }

  get last(): Generation | undefined {
    return this.rounds.at(-1)
  }

  /** The names of all processes of its last round. */
  get names(): string {
    return this.last === undefined ? '' : textOf(this.last.assignment.userData)
  }

  /** Its partitions after its last round. */
  get partitions(): readonly number[] {
    return this.last?.assignment.topicPartitions.get(this.topic) ?? []
  }

  /** Whether a round of it waits for others. */
  get waits(): boolean {
    return this.joining !== undefined
  }

  /** Begins a round, unless one waits. */
  begin(): void {
    this.joining ??= this.round().finally(() => {
      this.joining = undefined
    })
  }

  private async round(): Promise<void> {
    const assign: AssignMembers = (members) => {
      this.led = members
      return assignInOrder(this.topic)(members)
    }
    try {
      this.rounds.push(await this.member.join(bytesOf(this.name), assign))
    } catch (error) {
      this.failure = error
    }
  }

  /** One step of its life: a heartbeat, or the begin of a round. Throws what ended a round. */
  async turn(): Promise<void> {
    if (this.failure !== undefined) throw this.failure
    if (this.joining !== undefined) return
    if (this.member.generation === undefined) return this.begin()
    try {
      if ((await this.member.heartbeat()) === 'rebalancing') this.begin()
    } catch (error) {
      if (!isGroupError(error)) throw error
      this.losses.push(error.loss)
      this.begin()
    }
  }
}

/** Lets processes live until all have the same generation, which is one of them all. */
export async function settled(
  world: GroupWorld,
  processes: readonly Process[],
  others: readonly Process[] = [],
): Promise<void> {
  const names = [...processes, ...others].map(({ name }) => name).sort()
  const all = names.join(',')
  await world.until(`a generation of ${all}`, async () => {
    await Promise.all(processes.map((one) => one.turn()))
    const generation = processes[0]!.last?.generationId
    return processes.every(
      (one) => !one.waits && one.names === all && one.last!.generationId === generation,
    )
  })
}
