import type { StreamGraph } from '../stream-graph.ts'
import { type BuildSettings, buildJob, type JobDefinition, type JobOptions } from './definition.ts'

/** A change of the graph that a job has built; the default export of a module, so that every thread can make it. */
export type GraphRewrite = (graph: StreamGraph, options: JobOptions) => StreamGraph

/** What a module has as its graph: the job, its options, and what is made of its graph. */
export interface ModuleGraph<O extends JobOptions = JobOptions> {
  /** Options of the job: plain data. */
  readonly options: O
  readonly parallelism?: number
  readonly maxParallelism?: number
  /** @default that of the definition */
  readonly jobName?: string
  /** Undefined: the graph stays as it is built. */
  readonly rewrite?: { readonly url: string; readonly options: JobOptions }
}

/** Builds the graph of a job as every process and thread builds it. Throws as `buildJob` and as the rewrite. */
export async function buildModuleGraph<O extends JobOptions>(
  definition: JobDefinition<O>,
  { options, parallelism, maxParallelism, jobName, rewrite }: ModuleGraph<O>,
  settings: Pick<BuildSettings, 'warn'> = {},
): Promise<StreamGraph> {
  const graph = await buildJob(definition, options, {
    ...settings,
    ...(parallelism === undefined ? {} : { parallelism }),
    ...(maxParallelism === undefined ? {} : { maxParallelism }),
    ...(jobName === undefined ? {} : { jobName }),
  })
  if (rewrite === undefined) return graph
  const { default: change } = (await import(rewrite.url)) as { default: GraphRewrite }
  return change(graph, rewrite.options)
}
