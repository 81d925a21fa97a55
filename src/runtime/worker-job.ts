import { type Clock, systemClock } from '../core/clock.ts'
import type { Random } from '../core/random.ts'
import { buildJob, type JobDefinition, type JobOptions } from '../dataflow/job-definition.ts'
import type { ConfigurationMap, JobConfiguration } from './configuration.ts'
import { JobExecution, type JobExecutionOptions } from './job-execution.ts'
import { newJobId, resolveConfiguration } from './job-settings.ts'
import { loadStorage } from './load-storage.ts'
import type { SlotThreads } from './slot-threads.ts'
import { WorkerSlot } from './worker-slot.ts'

/** How a job runs on worker threads. */
export interface WorkerJobOptions<O extends JobOptions> {
  /** Module whose default export was made with `defineJob`; every slot thread imports it. */
  readonly module: URL
  readonly jobOptions: O
  /** Flink's keys, or a configuration that was parsed. */
  readonly configuration?: ConfigurationMap | JobConfiguration
  /** @default a random one */
  readonly jobId?: string
  /** @default the machine's clock */
  readonly clock?: Clock
  readonly random: Random
  readonly restoreFrom?: string | undefined
  readonly allowNonRestoredState?: boolean | undefined
  readonly coordinators?: JobExecutionOptions['coordinators'] | undefined
  readonly serving?: JobExecutionOptions['serving'] | undefined
  /** Threads of this module's slots that were started before. */
  readonly threads?: SlotThreads | undefined
  /** Called with each warning of the graph. */
  readonly warn?: (sentence: string) => void
}

/** Prepares a job with a worker thread for every slot. Throws INVALID_GRAPH and as the job's `build`. */
export async function createWorkerJob<O extends JobOptions>(
  options: WorkerJobOptions<O>,
): Promise<JobExecution> {
  const { module, jobOptions, clock = systemClock } = options
  const { default: definition } = (await import(module.href)) as { default: JobDefinition<O> }
  const configuration = resolveConfiguration(options.configuration)
  const { parallelism, maxParallelism, checkpoints } = configuration
  const settings = {
    parallelism,
    ...(maxParallelism === undefined ? {} : { maxParallelism }),
  }
  const graph = await buildJob(definition, jobOptions, {
    ...settings,
    ...(options.warn === undefined ? {} : { warn: options.warn }),
  })
  const { directory } = checkpoints
  return new JobExecution({
    jobId: options.jobId ?? newJobId(),
    graph,
    configuration,
    clock,
    random: options.random,
    startSlot: (slot, listener) =>
      new WorkerSlot(
        slot,
        { url: module.href, options: jobOptions, ...settings },
        listener,
        options.threads?.take(slot),
      ),
    storage: directory === undefined ? undefined : await loadStorage(directory),
    storageUrl: directory,
    restoreFrom: options.restoreFrom,
    allowNonRestoredState: options.allowNonRestoredState,
    coordinators: options.coordinators,
    serving: options.serving,
  })
}
