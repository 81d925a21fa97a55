import { openTopics } from '../../connectors/topics/open.ts'
import type { TopicsPlace } from '../../connectors/topics/place.ts'
import { createKeptTopics } from '../model-topic/topics.ts'
import { ServedJob, type ServedJobOptions } from '../served-job.ts'
import { jobIdOf } from './job-id.ts'
import { HISTORIES_MODULE } from './job-modules.ts'

/** Options of `serveHistories`. */
export interface ServeHistoriesOptions
  extends Omit<
    ServedJobOptions<Readonly<Record<string, unknown>>>,
    'module' | 'jobOptions' | 'seed' | 'models' | 'model'
  > {
  /** Place of the observations. */
  readonly place: TopicsPlace
  /** Topic of the observations, created if it is missing. */
  readonly observations: string
  /** Longest id in bytes. @default 64 */
  readonly maxKeyBytes?: number
}

/** Starts the `histories` job: the items of each user, and counts, as queryable state. */
export async function serveHistories({
  place,
  observations,
  maxKeyBytes,
  ...options
}: ServeHistoriesOptions): Promise<ServedJob> {
  {
    await using topics = await openTopics(place)
    await createKeptTopics(topics, [observations])
  }
  return await ServedJob.start({
    ...options,
    module: HISTORIES_MODULE,
    jobOptions: { ...place, observations, ...(maxKeyBytes === undefined ? {} : { maxKeyBytes }) },
    jobId: options.jobId ?? jobIdOf(`histories/${observations}`),
    seed: process.pid,
  })
}
