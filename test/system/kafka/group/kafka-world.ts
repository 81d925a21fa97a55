import {
  endTransaction,
  transactionIdentity,
} from '../../../../src/connectors/kafka/client/identity.ts'
import { KafkaGroupCommits } from '../../../../src/connectors/kafka/group/kafka-commits.ts'
import { KafkaGroupMember } from '../../../../src/connectors/kafka/group/kafka-member.ts'
import type { GroupWorld } from '../../../contracts/group-world.ts'
import { until } from '../../../run/until.ts'
import { openCluster } from '../fixture.ts'

/** The world of a test on a broker, whose connections are closed when the test ends. */
export function kafkaWorld(brokers: string, topic: string): GroupWorld {
  const cluster = openCluster({ brokers })
  return {
    topic,
    member: (options) => new KafkaGroupMember(cluster, options),
    commits: (groupId) => new KafkaGroupCommits(cluster, { groupId }),
    producer: (id) => transactionIdentity(cluster, id, 60_000),
    end: (transaction, commit) => endTransaction(cluster, transaction, commit),
    until: async (what, condition) => {
      await until(what, condition, { everyMs: 20 })
    },
  }
}
