import {
  endTransaction,
  transactionIdentity,
} from '../../../../src/connectors/kafka/client/identity.ts'
import { KafkaGroupCommits } from '../../../../src/connectors/kafka/group/kafka-commits.ts'
import { KafkaGroupMember } from '../../../../src/connectors/kafka/group/kafka-member.ts'
import type { GroupWorld } from '../../../contracts/group-world.ts'
import { until } from '../../../run/until.ts'
import { openCluster } from '../fixture.ts'

let groups = 0

/** The world of a test on a broker, whose connections are closed when the test ends. `file` begins the names of its groups. */
export function kafkaWorld(brokers: string, topic: string, file: string): GroupWorld {
  const cluster = openCluster({ brokers })
  return {
    topic,
    newGroup: () => `${file}-${++groups}`,
    member: (options) => new KafkaGroupMember(cluster, options),
    commits: (groupId) => new KafkaGroupCommits(cluster, { groupId }),
    producer: (id) => transactionIdentity(cluster, id, 60_000),
    end: (transaction, commit) => endTransaction(cluster, transaction, commit),
    until: async (what, condition) => {
      await until(what, condition, { everyMs: 20 })
    },
  }
}
