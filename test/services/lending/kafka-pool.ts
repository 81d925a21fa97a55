import { KafkaCluster } from '../../../src/connectors/kafka/client/cluster.ts'
import { deleteKafkaTopic, listKafkaTopics } from '../../../src/connectors/kafka/client/topics.ts'
import { until } from '../../run/until.ts'
import { makeKeyStore } from '../java/key-store.ts'
import { KafkaBroker } from '../kafka/broker.ts'
import { KAFKA_USERS, type SharedKafkaAccess } from './kafka.ts'
import type { Pooled } from './pool.ts'

/** Users that may do everything: those of the open listener, and those that the tests of logins create. */
const SUPER_USERS = ['ANONYMOUS', 'ada', 'grace', 'edith'].map((user) => `User:${user}`).join(';')

/** A Kafka with an open listener and one with TLS and logins, whose rights are checked. */
export async function pooledKafka(): Promise<Pooled> {
  const keyStore = await makeKeyStore()
  const broker = await KafkaBroker.start({
    startsQuickly: true,
    keepsClasses: true,
    keyStore,
    plainUsers: KAFKA_USERS,
    properties: {
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'super.users': SUPER_USERS,
    },
  })
  const { bootstrap, saslBootstrap, classPath } = broker
  const { certificate } = keyStore
  const access: SharedKafkaAccess = { bootstrap, saslBootstrap, classPath, certificate }
  return { access, clear: () => deleteTopics(bootstrap), stop: () => broker.stop() }
}

/** Deletes all topics, and with them the offsets that groups have committed for them. */
async function deleteTopics(brokers: string): Promise<void> {
  const cluster = new KafkaCluster({ brokers })
  try {
    const topics = await listKafkaTopics(cluster)
    await Promise.all(topics.map((topic) => deleteKafkaTopic(cluster, topic)))
    const areGone = async (): Promise<boolean> => (await listKafkaTopics(cluster)).length === 0
    await until('all topics are deleted', areGone, { everyMs: 50 })
  } finally {
    await cluster.close()
  }
}
