import type { KafkaCluster } from './client/cluster.ts'
import type { KafkaConnection } from './client/connection.ts'
import { type LedPartition, partitionsWithEnds } from './client/offsets.ts'
import type { KafkaSplit } from './split.ts'

/** Partitions of one leader. */
export interface LedSplits {
  readonly topic: string
  readonly leader: number
  readonly connection: KafkaConnection
  readonly splits: readonly KafkaSplit[]
}

/**
 * Confirms that a broker leads partitions and knows their ends, so that an answer without records means
 * that there are none. Two things make such answers wrong. A new leader may not know yet what the one
 * before it has acknowledged: it then refuses to say its end (KIP-207). And a broker that was frozen does
 * not know yet that another one leads: another broker is asked.
 */
export class LeaderCheck {
  private readonly cluster: KafkaCluster
  /** The checks in progress, by leader. */
  private readonly running = new Map<number, Promise<void>>()

  constructor(cluster: KafkaCluster) {
    this.cluster = cluster
  }

  /** Checks those splits that are not confirmed; resolves when that has ended, also without success. */
  async confirm(led: LedSplits): Promise<void> {
    if (led.splits.every(({ isConfirmed }) => isConfirmed)) return
    const check =
      this.running.get(led.leader) ??
      this.check(led)
        .catch(() => undefined)
        .finally(() => this.running.delete(led.leader))
    this.running.set(led.leader, check)
    await check
  }

  private async check({ topic, leader, connection, splits }: LedSplits): Promise<void> {
    const open = splits.filter(({ isConfirmed }) => !isConfirmed)
    const assignments = open.map(({ assignment }) => assignment)
    const seen = await this.cluster.leadersSeenBeside(leader, topic)
    const led = open.flatMap(({ partition }): LedPartition[] => {
      if (seen === undefined) return [{ partition, leaderEpoch: -1 }]
      const { leader: other = -1, leaderEpoch = -1 } = seen[partition] ?? {}
      return other === leader ? [{ partition, leaderEpoch }] : []
    })
    if (led.length === 0) return
    const known = await partitionsWithEnds(connection, topic, led)
    const nowMs = this.cluster.clock.nowMs()
    for (const [i, split] of open.entries()) {
      // A split that was assigned again meanwhile may have another leader.
      if (split.assignment === assignments[i] && known.has(split.partition)) {
        split.confirmedAtMs = nowMs
      }
    }
  }
}
