import { randomBytes } from 'node:crypto'
import {
  aFunction,
  anything,
  count,
  either,
  flag,
  kindOf,
  name,
  objectWith,
  recordOf,
  required,
  text,
} from '../core/options/kinds.ts'
import { checkArgument, checkOptions, type OptionShape } from '../core/options/shape.ts'
import { seededRandom } from '../core/random.ts'
import type { JobOptions } from '../dataflow/job/definition.ts'
import type { ConfigurationMap } from '../runtime/configuration/keys.ts'
import type { JobExecution, JobExecutionOptions } from '../runtime/job/execution.ts'
import { createWorkerJob } from '../runtime/job/worker-job.ts'

/** Options of `startJob`. */
export interface StartJobOptions<O extends JobOptions> {
  /** Options of the job's `build`. */
  readonly jobOptions: O
  /** Keys and values of Flink's configuration. @default the defaults of `weir run` without checkpoints */
  readonly configuration?: ConfigurationMap
  /** A job of the same id continues from its latest checkpoint. @default a random one */
  readonly jobId?: string
  /** A savepoint or checkpoint in checkpoint storage, or the n-th newest checkpoint of the job id. */
  readonly restoreFrom?: string | number
  /** Whether state that no operator takes is dropped. @default false */
  readonly allowNonRestoredState?: boolean
  readonly coordinators?: JobExecutionOptions['coordinators']
  /** Coordinators of the operators that ask a model. */
  readonly models?: JobExecutionOptions['models']
}

/** The module of a job. */
export const MODULE = kindOf<URL>('a URL', (value) => value instanceof URL)

/** What is said of a run of a job besides its configuration. */
export const JOB_RUN = {
  jobId: name,
  restoreFrom: either(name, count),
  allowNonRestoredState: flag,
  coordinators: objectWith<NonNullable<JobExecutionOptions['coordinators']>>('coordinators by uid'),
}

const START_JOB: OptionShape<StartJobOptions<JobOptions>> = {
  ...JOB_RUN,
  jobOptions: required(recordOf(anything())),
  configuration: recordOf(text),
  models: aFunction(),
}

/**
 * Starts the job of a module (`defineJob`) on slots, each a worker thread of this process, and opens no port. `result`
 * of the job settles at its end; `cancel`, `suspend` and `stopWithSavepoint` end it. Rejects with INVALID_GRAPH,
 * UNKNOWN_OPTION, INVALID_ARGUMENT, and as the job's `build`.
 */
export async function startJob<O extends JobOptions>(
  module: URL,
  options: StartJobOptions<O>,
): Promise<JobExecution> {
  checkArgument('startJob', 'module', MODULE, module)
  checkOptions('startJob', START_JOB, options)
  const random = seededRandom(randomBytes(4).readUInt32LE())
  const job = await createWorkerJob({ ...options, module, random })
  job.start()
  return job
}
