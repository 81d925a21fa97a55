import { openTopics } from '../../connectors/topics/open.ts'
import type { TopicsPlace } from '../../connectors/topics/place.ts'
import { requireArgument } from '../../core/errors.ts'
import { createKeptTopics } from '../../models/topic/topics.ts'
import { HISTORY_RATINGS_UID } from '../histories/job.ts'
import { refusedCoordinator, refusedText } from '../learning/refused-total.ts'
import { requireSettings } from '../query-access.ts'
import { ServedJob, type ServedJobOptions } from '../served-job.ts'
import { jobIdOf } from './job-id.ts'
import { HISTORIES_MODULE } from './job-modules.ts'

/** Options of `serveHistories`. */
export interface ServeHistoriesOptions
  extends Omit<
    ServedJobOptions<Readonly<Record<string, unknown>>>,
    'module' | 'jobOptions' | 'jobId' | 'seed' | 'models' | 'model' | 'coordinators'
  > {
  /** Place of the observations. */
  readonly place: TopicsPlace
  /** Topic of the observations, created if it is missing. */
  readonly observations: string
  /** Topic of refused observations, created if it is missing. @default they are counted and dropped */
  readonly quarantine?: string | undefined
  readonly onWarning?: (warning: string) => void
  /** Longest id in bytes. @default 64 */
  readonly maxKeyBytes?: number
}

/** Starts the `histories` job: the items of each user, and counts, as queryable state. */
export async function serveHistories({
  place,
  observations,
  quarantine,
  maxKeyBytes,
  onWarning,
  ...options
}: ServeHistoriesOptions): Promise<ServedJob> {
  requireArgument(
    quarantine !== observations,
    `topic "${observations}" cannot have what is refused of it: it would be read again, without end`,
  )
  await requireSettings(options.configuration, options)
  {
    await using topics = await openTopics(place)
    await createKeptTopics(topics, [
      observations,
      ...(quarantine === undefined ? [] : [quarantine]),
    ])
  }
  return await ServedJob.start({
    ...options,
    module: HISTORIES_MODULE,
    jobOptions: {
      ...place,
      observations,
      ...(quarantine === undefined ? {} : { quarantine }),
      ...(maxKeyBytes === undefined ? {} : { maxKeyBytes }),
    },
    coordinators: {
      [HISTORY_RATINGS_UID]: refusedCoordinator((refused) =>
        onWarning?.(refusedText(refused, { observations, quarantine })),
      ),
    },
    jobId: jobIdOf(`histories/${observations}`),
    seed: process.pid,
  })
}
