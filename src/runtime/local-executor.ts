import { randomBytes } from 'node:crypto'
import { type Clock, systemClock } from '../core/clock.ts'
import { type Random, seededRandom } from '../core/random.ts'
import type { ExecuteOptions, JobExecutor, JobResult } from '../dataflow/job-executor.ts'
import type { StreamGraph } from '../dataflow/stream-graph.ts'
import type { ConfigurationMap, JobConfiguration } from './configuration.ts'
import { JobExecution, type JobExecutionOptions } from './job-execution.ts'
import { newJobId, resolveConfiguration } from './job-settings.ts'
import { LocalSlot } from './local-slot.ts'
import { openStorage } from './open-storage.ts'

/** How a job runs in the calling thread. */
export interface LocalJobOptions {
  readonly graph: StreamGraph
  /** Flink's keys, or a configuration that was parsed. */
  readonly configuration?: ConfigurationMap | JobConfiguration
  /** @default a random one */
  readonly jobId?: string
  /** @default the machine's clock */
  readonly clock?: Clock
  readonly random?: Random
  readonly restoreFrom?: string | undefined
  readonly allowNonRestoredState?: boolean | undefined
  readonly coordinators?: JobExecutionOptions['coordinators'] | undefined
  readonly serving?: JobExecutionOptions['serving'] | undefined
}

/** Prepares a job whose slots all run in the calling thread, so that its graph may hold closures. */
export function createLocalJob(options: LocalJobOptions): JobExecution {
  const { graph, clock = systemClock } = options
  const configuration = resolveConfiguration(options.configuration)
  const { directory } = configuration.checkpoints
  const seed = randomBytes(4).readUInt32LE()
  return new JobExecution({
    jobId: options.jobId ?? newJobId(),
    graph,
    configuration,
    clock,
    random: options.random ?? seededRandom(seed),
    startSlot: (slot, listener) =>
      new LocalSlot(slot, { clock, openStorage, buildGraph: () => graph }, listener),
    storage: directory === undefined ? undefined : openStorage(directory),
    storageUrl: directory,
    restoreFrom: options.restoreFrom,
    allowNonRestoredState: options.allowNonRestoredState,
    coordinators: options.coordinators,
    serving: options.serving,
  })
}

/** What stands behind `env.execute()`: runs the graph in the calling thread until it has finished. */
export class LocalExecutor implements JobExecutor {
  private readonly configuration: ConfigurationMap

  constructor(configuration: ConfigurationMap = { 'state.backend.type': 'heap' }) {
    this.configuration = configuration
  }

  /** `options` are configuration keys, which override the executor's own. */
  async execute(graph: StreamGraph, options: ExecuteOptions): Promise<JobResult> {
    const overrides = Object.entries(options).map(([key, value]) => [key, String(value)])
    const configuration = { ...this.configuration, ...Object.fromEntries(overrides) }
    const job = createLocalJob({ graph, configuration })
    job.start()
    return await job.result
  }
}
