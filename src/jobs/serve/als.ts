import { openTopics } from '../../connectors/topics/open.ts'
import { requireArgument } from '../../core/errors.ts'
import { ALS_MODEL } from '../../models/topic/als-serving-function.ts'
import { createKeptTopics } from '../../models/topic/topics.ts'
import type { AlsServingOptions } from '../als-serving/job.ts'
import { TAG_LINES_UID } from '../als-serving/tag-states.ts'
import { refusedCoordinator } from '../learning/refused-total.ts'
import type { ServedJob } from '../served-job.ts'
import { ALS_SERVING_MODULE } from './job-modules.ts'
import { type ModelJob, type ServeModelOptions, serveModel } from './model.ts'

export { jobIdOf } from './job-id.ts'

/** Options of `serveAlsJob`. */
export interface ServeAlsOptions extends ServeModelOptions {
  /** Topic of the tags of items, created if it is missing. @default no list has rules */
  readonly tags?: string
}

const ALS_SERVING: ModelJob<AlsServingOptions> = {
  name: 'als-serving',
  module: ALS_SERVING_MODULE,
  state: ALS_MODEL,
  options: (place, topic, dimension, dimensions) => ({ ...place, topic, dimension, dimensions }),
}

/** Starts the `als-serving` job of a data folder (`serveModel`). */
export async function serveAlsJob({ tags, ...options }: ServeAlsOptions): Promise<ServedJob> {
  if (tags === undefined) return await serveModel(ALS_SERVING, options)
  const { data, place = { logDirectory: data.log }, topic } = options
  requireArgument(
    tags !== topic,
    `topic "${tags}" has the model; give the tags a topic of their own`,
  )
  {
    await using topics = await openTopics(place)
    await createKeptTopics(topics, [tags])
  }
  const job: ModelJob<AlsServingOptions> = {
    ...ALS_SERVING,
    options: (...given) => ({ ...ALS_SERVING.options(...given), tags }),
  }
  const refused = refusedCoordinator(({ count, reason, partition, offset }) =>
    options.onWarning?.(
      `refused ${count} of the tags in topic ${tags} since the start, the latest at ${partition}:${offset} (${reason}); a line is item,tag;tag`,
    ),
  )
  const coordinators = { ...options.coordinators, [TAG_LINES_UID]: refused }
  return await serveModel(job, { ...options, coordinators })
}
