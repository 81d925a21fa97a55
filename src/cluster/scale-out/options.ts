import type { KafkaClientOptions } from '../../connectors/kafka/client/options.ts'
import type { JobOptions } from '../../dataflow/job/definition.ts'
import type { ConfigurationMap } from '../../runtime/configuration/keys.ts'

/** What all processes of a job have in common. */
export interface ScaleOutJobOptions {
  /** Module of the job (`defineJob`). */
  readonly module: URL
  readonly jobOptions: JobOptions
  /** Keys and values of Flink's configuration. */
  readonly configuration: ConfigurationMap
  /** The Kafka of the group, of the exchange topics and of their transactions. */
  readonly kafka: KafkaClientOptions
  /** Name of the group; the processes with the same one are one job. */
  readonly applicationId: string
  /** Number of job partitions: only a restore changes it. */
  readonly partitions: number
}
