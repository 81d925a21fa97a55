import { createHash } from 'node:crypto'
import { hasTopic, readTopicConfig } from '../connectors/log/topic-config.ts'
import { systemClock } from '../core/clock.ts'
import { WeirError } from '../core/errors.ts'
import { ServedJob } from '../jobmanager/served-job.ts'
import {
  VersionCoordinator,
  type VersionCoordinatorOptions,
} from '../jobmanager/version-coordinator.ts'
import { type AlsServingOptions, MODEL_ROWS_UID } from '../jobs/als-serving.ts'
import { ALS_MODEL } from '../jobs/als-serving-function.ts'
import type { ConfigurationMap } from '../runtime/configuration.ts'
import type { SlotThreads } from '../runtime/slot-threads.ts'
import { ALS_SERVING_MODULE } from './als-serving-module.ts'
import type { DataDirectory } from './data-directory.ts'
import { dimensionOfTopic } from './model-topic-dimension.ts'

/** How `als-serving` is started from the command line. */
export interface ServeAlsOptions {
  readonly data: DataDirectory
  readonly topic: string
  /** Floats of a row; read from the topic when missing. */
  readonly dimension?: number
  readonly slots: number
  readonly queryThreads: number
  readonly host: string
  readonly port: number
  readonly token?: string
  readonly configuration: ConfigurationMap
  readonly onLive: NonNullable<VersionCoordinatorOptions['onLive']>
  readonly onDropped?: VersionCoordinatorOptions['onDropped']
  /** Threads for the slots that were started before. */
  readonly threads?: SlotThreads
}

/**
 * Starts the `als-serving` job of a data folder with its query threads; it goes on from its latest
 * checkpoint. Throws UNKNOWN_TOPIC when no model was published.
 */
export async function serveAls(options: ServeAlsOptions): Promise<ServedJob> {
  const { data, topic } = options
  if (!hasTopic(data.log, topic)) {
    throw new WeirError(
      'UNKNOWN_TOPIC',
      `there is no model topic "${topic}" in ${data.log}; publish one with "weir train als"`,
    )
  }
  const dimension = options.dimension ?? (await dimensionOfTopic(data.log, topic))
  const jobOptions: AlsServingOptions = { logDirectory: data.log, topic, dimension }
  const coordinator = new VersionCoordinator({
    model: 0,
    partitions: readTopicConfig(data.log, topic).partitions,
    clock: systemClock,
    onLive: options.onLive,
    ...(options.onDropped === undefined ? {} : { onDropped: options.onDropped }),
  })
  return await ServedJob.start({
    module: ALS_SERVING_MODULE,
    jobOptions,
    configuration: {
      'parallelism.default': String(options.slots),
      'execution.checkpointing.dir': data.checkpoints,
      'execution.checkpointing.interval': '10 s',
      'state.backend.directory': data.state,
      ...options.configuration,
    },
    jobId: jobIdOf(`als-serving/${topic}`),
    seed: process.pid,
    queryThreads: options.queryThreads,
    host: options.host,
    port: options.port,
    models: [ALS_MODEL],
    coordinators: { [MODEL_ROWS_UID]: coordinator },
    threads: options.threads,
    ...(options.token === undefined ? {} : { token: options.token }),
  })
}

/** The job id of a name: the same at every start, so that the job finds its checkpoints again. */
export function jobIdOf(name: string): string {
  return createHash('md5').update(name).digest('hex')
}
