import { openTopics } from '../connectors/topics/open-topics.ts'
import { type Clock, sleep, systemClock } from '../core/clock.ts'
import type { ServedJob } from '../jobmanager/served-job.ts'
import { ALS_MODEL } from '../jobs/als-serving-function.ts'
import { ModelRegistry } from '../jobs/model-registry.ts'
import { DELTAS_UID, LEARNER_UID, type OnlineAlsOptions, RATINGS_UID } from '../jobs/online-als.ts'
import { LearningCoordinator } from '../jobs/online-coordinator.ts'
import type { LearningPlace } from '../jobs/online-places.ts'
import { versionFacts } from '../jobs/online-version.ts'
import { placesOfVersion } from '../jobs/online-version-places.ts'
import { deltasTopic } from '../models/model-delta.ts'
import { registryPlace } from './model-registry-flags.ts'
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
/** Attempts to read what the registry says of a version, and the time between two. */
const READS = 50
const READ_EVERY_MS = 100

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
  const registry = new ModelRegistry({
    place: registryPlace(place, data.root),
    clock: systemClock,
  })
  const { observations } = job
  const from = { registry, place, model: options.topic, observations }
  const placesOf = (version: number): Promise<readonly LearningPlace[]> =>
    untilRead(() => placesOfVersion(from, version), systemClock)
  let newest = 0
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
      newest = version
      void placesOf(version).then((places) => {
        // Another one may have gone live while the registry was read.
        if (newest === version) learning.live({ ...versionFacts(version, marker), places })
      })
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

/** What a read gives that may meet a broker or a file in the middle of a change; nothing at the end. */
async function untilRead(
  read: () => Promise<readonly LearningPlace[]>,
  clock: Clock,
): Promise<readonly LearningPlace[]> {
  for (let attempt = 0; attempt < READS; attempt++) {
    try {
      return await read()
    } catch {
      await sleep(clock, READ_EVERY_MS)
    }
  }
  return []
}
