import { randomBytes } from 'node:crypto'
import { type Clock, systemClock } from '../../core/clock.ts'
import type { JobConfiguration } from '../configuration/configuration.ts'
import { type ConfigurationMap, parseConfiguration } from '../configuration/keys.ts'
import type { JobExecutionOptions } from './execution-options.ts'

/** Options of a job's run, in the calling thread or on worker threads. */
export interface RunOptions
  extends Pick<JobExecutionOptions, 'coordinators' | 'models' | 'serving'> {
  /** See `CheckpointConfiguration`; overrides the configuration. */
  readonly restoreFrom?: string | number | undefined
  readonly allowNonRestoredState?: boolean | undefined
  /** Flink's keys, or a configuration that was parsed. */
  readonly configuration?: ConfigurationMap | JobConfiguration
  /** @default a random one */
  readonly jobId?: string
  /** @default the machine's clock */
  readonly clock?: Clock
}

/** Fills in defaults. Throws as `parseConfiguration`. */
export function resolveRunOptions(
  options: RunOptions,
): Omit<JobExecutionOptions, 'graph' | 'random' | 'startSlot' | 'storage'> {
  const configuration = withRestoreOptions(resolveConfiguration(options.configuration), options)
  return {
    jobId: options.jobId ?? randomBytes(16).toString('hex'),
    configuration,
    clock: options.clock ?? systemClock,
    storageUrl: configuration.checkpoints.directory,
    coordinators: options.coordinators,
    models: options.models,
    serving: options.serving,
  }
}

/** Options override the configuration. */
function withRestoreOptions(
  configuration: JobConfiguration,
  { restoreFrom, allowNonRestoredState }: RunOptions,
): JobConfiguration {
  const { checkpoints } = configuration
  return {
    ...configuration,
    checkpoints: {
      ...checkpoints,
      restoreFrom: restoreFrom ?? checkpoints.restoreFrom,
      allowNonRestoredState: allowNonRestoredState ?? checkpoints.allowNonRestoredState,
    },
  }
}

function resolveConfiguration(given: RunOptions['configuration'] = {}): JobConfiguration {
  const parsed = 'checkpoints' in given && typeof given.checkpoints === 'object'
  return parsed ? (given as JobConfiguration) : parseConfiguration(given as ConfigurationMap)
}
