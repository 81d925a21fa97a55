import { transactionIdentity } from '../../../src/connectors/kafka/client/identity.ts'
import { KafkaProducer } from '../../../src/connectors/kafka/producer.ts'
import { openCluster } from './fixture.ts'

/** Leaves a transaction with one record open, like a process that was killed. */
export async function leaveTransactionOpen(
  brokers: string,
  topic: string,
  id: string,
): Promise<void> {
  const cluster = openCluster({ brokers })
  const identity = await transactionIdentity(cluster, id, 600_000)
  const producer = await KafkaProducer.open(cluster, topic, { identity })
  producer.sendRecord(Buffer.from(id), Buffer.from('v'), Date.now(), -1, [])
  await producer.flush()
  producer.close()
}
