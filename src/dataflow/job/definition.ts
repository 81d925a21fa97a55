import { aFunction, count, name, objectWith, recordOf, required } from '../../core/options/kinds.ts'
import { checkOptions, nested, type OptionShape } from '../../core/options/shape.ts'
import { StreamExecutionEnvironment } from '../stream-execution-environment.ts'
import type { JobExecutor, StreamGraph } from '../stream-graph.ts'
import {
  completeJobOptions,
  JOB_OPTION_SPEC,
  type JobOptionSpecs,
  type OptionsOf,
} from './option-specs.ts'

/** Options of a job. They are plain data, from the command line or over REST. */
export type JobOptions = Readonly<Record<string, unknown>>

/**
 * A job that every thread and process can build: the default export of a module. `build` must be
 * deterministic, because every slot thread builds the graph again and compares fingerprints.
 */
export interface JobDefinition<O extends JobOptions = JobOptions> {
  readonly name: string
  /**
   * Declared options: checked before `build`, shown by `weir run JOB --help`.
   * @default any options are passed on as they are
   */
  readonly options?: JobOptionSpecs
  build(env: StreamExecutionEnvironment, options: O): void | Promise<void>
}

const DEFINITION: OptionShape<JobDefinition> = {
  name: required(name),
  options: recordOf(nested(JOB_OPTION_SPEC)),
  build: required(aFunction()),
}

/** Declares a job. With declared `options`, `build` gets their values with their types. */
export function defineJob<const S extends JobOptionSpecs>(
  definition: Omit<JobDefinition<OptionsOf<S>>, 'options'> & { readonly options: S },
): JobDefinition<OptionsOf<S>>
export function defineJob<O extends JobOptions>(definition: JobDefinition<O>): JobDefinition<O>
export function defineJob(definition: JobDefinition): JobDefinition {
  checkOptions('defineJob', DEFINITION, definition)
  return definition
}

/** Settings for building a job. */
export interface BuildSettings {
  readonly parallelism?: number
  readonly maxParallelism?: number
  /** Executor of the environment, for jobs that call `execute`. */
  readonly executor?: JobExecutor
  /** Called with each warning of the graph. */
  readonly warn?: (sentence: string) => void
  /** Name of the job. @default that which `build` sets, else that of the definition */
  readonly jobName?: string
}

const BUILD_SETTINGS: OptionShape<BuildSettings> = {
  parallelism: count,
  maxParallelism: count,
  executor: objectWith('an executor, such as new LocalExecutor()', 'execute'),
  warn: aFunction(),
  jobName: name,
}

/**
 * Builds the graph of a job. Throws INVALID_GRAPH, INVALID_ARGUMENT for options that the job does not
 * declare so, and all that `build` throws.
 */
export async function buildJob<O extends JobOptions>(
  definition: JobDefinition<O>,
  options: O,
  settings: BuildSettings = {},
): Promise<StreamGraph> {
  checkOptions('defineJob', DEFINITION, definition)
  checkOptions('buildJob', BUILD_SETTINGS, settings)
  const { warn, jobName, ...environment } = settings
  const env = new StreamExecutionEnvironment({ ...environment, jobName: definition.name })
  await definition.build(env, checkedOptions(definition, options))
  const graph = jobName === undefined ? env.graph() : env.graph(jobName)
  if (warn !== undefined) {
    for (const issue of env.validate()) warn(issue.message)
  }
  return graph
}

/** The options as the job declares them. Throws INVALID_ARGUMENT. */
export function checkedOptions<O extends JobOptions>(
  { name, options: specs }: JobDefinition<O>,
  given: JobOptions,
): O {
  return (specs === undefined ? given : completeJobOptions(name, specs, given)) as O
}
