import { siblingModule } from '../../../core/sibling-module.ts'
import type { JobOptions } from '../../../dataflow/job/definition.ts'
import type { StreamGraph } from '../../../dataflow/stream-graph.ts'
import type { JobPartition } from './job-partition.ts'
import { type KafkaExchangeOptions, kafkaExchanges } from './kafka-exchange.ts'
import { partitionGraph } from './partition-graph.ts'

/** What the threads of a job partition need to build its graph: plain data. */
export interface PartitionModuleOptions extends KafkaExchangeOptions, JobPartition {}

/** The module that makes the graph of a job partition of the graph of a job. */
export const PARTITION_MODULE = siblingModule('./module', import.meta.url).href

/** The graph of one job partition, with exchange topics on Kafka. Throws as `partitionGraph`. */
export default function rewrite(graph: StreamGraph, options: JobOptions): StreamGraph {
  const part = options as unknown as PartitionModuleOptions
  return partitionGraph(graph, part, kafkaExchanges(part))
}
