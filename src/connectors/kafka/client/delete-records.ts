import { requestOf, topicRight } from './access-rights.ts'
import type { KafkaCluster } from './cluster.ts'
import { throwKafkaError } from './errors.ts'
import { deleteRecordsV2 } from './library.ts'

const TIMEOUT_MS = 30_000

/** Deletes the records of a partition below an offset. Throws UNKNOWN_TOPIC, ACCESS_DENIED. */
export async function deleteKafkaRecords(
  cluster: KafkaCluster,
  { topic, partition, before }: { topic: string; partition: number; before: number },
): Promise<void> {
  const doing = `deletion of records of ${topic}/${partition}`
  const request = requestOf(cluster, doing, topicRight('Delete', topic))
  await cluster.retry(doing, async () => {
    try {
      const { leader } = await cluster.leadershipOf(topic, partition)
      const connection = await cluster.node(leader)
      const partitions = [{ partitionIndex: partition, offset: BigInt(before) }]
      const answer = await connection.call(
        deleteRecordsV2.api,
        [{ name: topic, partitions }],
        TIMEOUT_MS,
      )
      throwKafkaError(answer.topics[0]!.partitions[0]!.errorCode, request)
    } catch (error) {
      cluster.forgetLeaders(topic)
      throw error
    }
  })
}
