import type { JobExecutor } from './job-executor.ts'
import { StreamExecutionEnvironment } from './stream-execution-environment.ts'
import type { StreamGraph } from './stream-graph.ts'

/** Options of a job: plain data, as given on the command line or over REST. */
export type JobOptions = Readonly<Record<string, unknown>>

/**
 * A job that threads and processes can build for themselves: the default export of a module. `build`
 * must be deterministic, because every slot thread builds the graph anew and compares fingerprints.
 */
export interface JobDefinition<O extends JobOptions = JobOptions> {
  readonly name: string
  build(env: StreamExecutionEnvironment, options: O): void | Promise<void>
}

/** Declares a job. */
export function defineJob<O extends JobOptions>(definition: JobDefinition<O>): JobDefinition<O> {
  return definition
}

/** Defaults that a job is built with. */
export interface BuildSettings {
  readonly parallelism?: number
  readonly maxParallelism?: number
  /** Given to the environment, for jobs that call `execute` themselves. */
  readonly executor?: JobExecutor
  /** Called with each warning of the graph. */
  readonly warn?: (sentence: string) => void
}

/** Builds the graph of a job. Throws INVALID_GRAPH, and whatever the job itself throws. */
export async function buildJob<O extends JobOptions>(
  definition: JobDefinition<O>,
  options: O,
  settings: BuildSettings = {},
): Promise<StreamGraph> {
  const { warn, ...environment } = settings
  const env = new StreamExecutionEnvironment({ ...environment, jobName: definition.name })
  await definition.build(env, options)
  const graph = env.graph()
  if (warn !== undefined) {
    for (const issue of env.validate()) warn(issue.message)
  }
  return graph
}
