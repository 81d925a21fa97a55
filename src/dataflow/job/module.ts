import { WeirError } from '../../core/errors.ts'
import type { StreamGraph } from '../stream-graph.ts'
import { type BuildSettings, buildJob, type JobDefinition, type JobOptions } from './definition.ts'

/** A change of the graph that a job has built: the default export of a module, so that every thread can make it. */
export type GraphRewrite = (graph: StreamGraph, options: JobOptions) => StreamGraph

/** A job that a slot thread can build. */
export interface JobModule {
  /** URL of a module whose default export was made with `defineJob`. */
  readonly url: string
  /** Options of the job: plain data. */
  readonly options: JobOptions
  readonly parallelism?: number
  readonly maxParallelism?: number
  /** @default that which the job gives itself */
  readonly jobName?: string
  /** Module of a `GraphRewrite`, with its options. @default the graph stays as it is built */
  readonly rewrite?: { readonly url: string; readonly options: JobOptions }
}

/**
 * Builds the graph of a job from its module, which is being loaded. Throws INVALID_ARGUMENT for a module without a
 * job, as `buildJob`, and as the rewrite.
 */
export async function buildFromModule(
  loading: Promise<unknown>,
  { url, options, parallelism, maxParallelism, jobName, rewrite }: JobModule,
  settings: Pick<BuildSettings, 'warn'> = {},
): Promise<StreamGraph> {
  const module = (await loading) as { default?: JobDefinition<JobOptions> }
  if (module.default === undefined) {
    throw new WeirError('INVALID_ARGUMENT', `${url} has no default export; use defineJob`)
  }
  const graph = await buildJob(module.default, options, {
    ...settings,
    ...(parallelism === undefined ? {} : { parallelism }),
    ...(maxParallelism === undefined ? {} : { maxParallelism }),
    ...(jobName === undefined ? {} : { jobName }),
  })
  if (rewrite === undefined) return graph
  const { default: change } = (await import(rewrite.url)) as { default: GraphRewrite }
  return change(graph, rewrite.options)
}
