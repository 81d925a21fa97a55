import { openTopics } from '../connectors/topics/open-topics.ts'
import { systemClock } from '../core/clock.ts'
import type { ServedJob } from '../jobmanager/served-job.ts'
import { ALS_MODEL } from '../jobs/als-serving-function.ts'
import { DELTAS_UID, LEARNER_UID, type OnlineAlsOptions, RATINGS_UID } from '../jobs/online-als.ts'
import { LearningCoordinator } from '../jobs/online-coordinator.ts'
import { versionFacts } from '../jobs/online-version.ts'
import { deltasTopic } from '../models/model-delta.ts'
import { ONLINE_ALS_MODULE } from './online-als-module.ts'
import { type ModelJob, type ServeModelOptions, serveModel } from './serve-model.ts'

/** What the learning job is told beside where its topics are. */
export type LearningJobOptions = Pick<OnlineAlsOptions, LearningKey> &
  Partial<Pick<OnlineAlsOptions, 'rule'>>

type LearningKey =
  | 'observations'
  | 'quarantine'
  | 'evidence'
  | 'prequential'
  | 'ratingsPerSecond'
  | 'refuseOutOfRange'
  | 'window'
  | 'lingerMs'
  | 'mostUnderWay'

/** How `online-als` is started. */
export interface ServeLearningOptions extends Omit<ServeModelOptions, 'coordinators'> {
  readonly job: LearningJobOptions
  /** A version went live and is being learned on. */
  readonly onLearning?: (version: number) => void
}

const PARTITIONS = 4
/** Rows of more floats than this cost too much to be solved anew for every rating. */
const LONGEST_GRAM_ROW = 34

/**
 * Starts the `online-als` job of a data folder: it serves as `als-serving` does, and learns. Creates
 * its topics where they are missing. Throws UNKNOWN_TOPIC when no model was published.
 */
export async function serveLearningAls(options: ServeLearningOptions): Promise<ServedJob> {
  const { job, data, place = { logDirectory: data.log }, onLearning, ...rest } = options
  await createTopics(options, place)
  const learning = new LearningCoordinator({
    learnerUid: LEARNER_UID,
    clock: systemClock,
    ...(onLearning === undefined ? {} : { onLearning }),
  })
  const model: ModelJob<OnlineAlsOptions> = {
    name: 'online-als',
    module: ONLINE_ALS_MODULE,
    state: ALS_MODEL,
    options: (where, topic, dimension) => ({
      ...where,
      ...job,
      topic,
      dimension,
      rule: job.rule ?? { rule: dimension <= LONGEST_GRAM_ROW ? 'gram' : 'sgd' },
    }),
  }
  return await serveModel(model, {
    ...rest,
    data,
    place,
    coordinators: { [LEARNER_UID]: learning, [RATINGS_UID]: learning, [DELTAS_UID]: learning },
    onLive: (version, marker) => {
      options.onLive(version, marker)
      learning.live(versionFacts(version, marker))
    },
  })
}

async function createTopics(
  { topic, job }: ServeLearningOptions,
  place: NonNullable<ServeLearningOptions['place']>,
): Promise<void> {
  await using topics = await openTopics(place)
  const wanted = [job.observations, deltasTopic(topic), job.quarantine]
  for (const name of wanted) {
    if (name === undefined || (await topics.has(name))) continue
    const kept = { cleanupPolicy: 'delete', retentionMs: -1, retentionBytes: -1 } as const
    await topics.create(name, { partitions: PARTITIONS, ...kept })
  }
}
