import { createHash, randomBytes } from 'node:crypto'
import { seededRandom } from '../../core/random.ts'
import { buildFromModule } from '../../dataflow/job/module.ts'
import type { StreamGraph } from '../../dataflow/stream-graph.ts'
import { parseConfiguration } from '../../runtime/configuration/keys.ts'
import type { JobExecution } from '../../runtime/job/execution.ts'
import { createWorkerJob } from '../../runtime/job/worker-job.ts'
import type { ServingPort } from '../../runtime/protocol/serving-port.ts'
import type { SlotThreadPool } from '../../runtime/slot/pool/slot-threads.ts'
import { partName } from './graph/job-partition.ts'
import type { KafkaExchangeOptions } from './graph/kafka-exchange.ts'
import { PARTITION_MODULE, type PartitionModuleOptions } from './graph/module.ts'
import type { ScaleOutJobOptions } from './options.ts'

/** Id under which the checkpoints of a job partition are stored, the same in every process. */
export function partitionJobId(applicationId: string, partition: number): string {
  const name = JSON.stringify([applicationId, partition])
  return createHash('md5').update(name).digest('hex')
}

/** Id of the whole job, as tools show it; the same in every process. */
export function scaledJobId(applicationId: string): string {
  return createHash('md5')
    .update(JSON.stringify([applicationId]))
    .digest('hex')
}

/** What the executions of a process share, and what one of them is read by. */
export interface PartitionParts {
  readonly pool: SlotThreadPool
  /** Reads the state of the partition; undefined where no queries are answered. */
  readonly serving?: ServingPort | undefined
}

/**
 * Prepares the execution of one job partition: a job of its own that continues from the partition's last
 * checkpoint, whichever process has taken it, and fences that process. Throws as `createWorkerJob`.
 */
export async function createPartitionJob(
  options: ScaleOutJobOptions,
  partition: number,
  { pool, serving }: PartitionParts,
): Promise<JobExecution> {
  const { module, jobOptions, configuration, applicationId, partitions } = options
  const parsed = parseConfiguration({
    ...configuration,
    'parallelism.default': String(partitions),
  })
  return await createWorkerJob({
    module,
    jobOptions,
    jobId: partitionJobId(applicationId, partition),
    configuration: {
      ...parsed,
      // A partition is one subtask; the threads of a process are shared by its partitions.
      slots: undefined,
      checkpoints: { ...parsed.checkpoints, takeOver: true },
    },
    random: seededRandom(randomBytes(4).readUInt32LE()),
    pool,
    serving,
    part: {
      jobName: partName(applicationId, partition),
      rewrite: { url: PARTITION_MODULE, options: { ...moduleOptions(options, partition) } },
    },
  })
}

/** The graph of the whole job, as its partitions divide it. Throws as the job's `build`. */
export async function wholeGraph(
  { module, jobOptions, configuration, partitions }: ScaleOutJobOptions,
  warn: (sentence: string) => void,
): Promise<StreamGraph> {
  const { maxParallelism } = parseConfiguration(configuration)
  const job = {
    url: module.href,
    options: jobOptions,
    parallelism: partitions,
    ...(maxParallelism === undefined ? {} : { maxParallelism }),
  }
  return await buildFromModule(import(job.url), job, { warn })
}

function moduleOptions(options: ScaleOutJobOptions, partition: number): PartitionModuleOptions {
  return { ...exchangeOptions(options), partition }
}

function exchangeOptions({
  kafka,
  applicationId,
  partitions,
  configuration,
}: ScaleOutJobOptions): KafkaExchangeOptions {
  const { retained } = parseConfiguration(configuration).checkpoints
  return { kafka, applicationId, partitions, retained }
}
