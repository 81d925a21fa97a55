import { WeirError } from '../../core/errors.ts'
import type { StreamGraph } from '../stream-graph.ts'
import { buildJob, type JobDefinition, type JobOptions } from './definition.ts'

/** A job that a slot thread can build. */
export interface JobModule {
  /** URL of a module whose default export was made with `defineJob`. */
  readonly url: string
  /** Options of the job: plain data. */
  readonly options: JobOptions
  readonly parallelism?: number
  readonly maxParallelism?: number
}

/**
 * Builds the graph of a job from its module, which is being loaded. Throws INVALID_ARGUMENT for a module without a
 * job, and as `buildJob`.
 */
export async function buildFromModule(
  loading: Promise<unknown>,
  { url, options, parallelism, maxParallelism }: JobModule,
): Promise<StreamGraph> {
  const module = (await loading) as { default?: JobDefinition<JobOptions> }
  if (module.default === undefined) {
    throw new WeirError('INVALID_ARGUMENT', `${url} has no default export; use defineJob`)
  }
  return await buildJob(module.default, options, {
    ...(parallelism === undefined ? {} : { parallelism }),
    ...(maxParallelism === undefined ? {} : { maxParallelism }),
  })
}
