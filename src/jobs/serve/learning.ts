import { openTopics } from '../../connectors/topics/open.ts'
import { sleep, systemClock } from '../../core/clock.ts'
import type { ModelVersionMarker } from '../../models/registry/version-marker.ts'
import type { LearningCoordinator } from '../learning/coordinator.ts'
import type { LearnableVersion } from '../learning/messages.ts'
import type { ResumeOffset } from '../learning/resume-offsets.ts'
import { resumeOffsetsOf } from '../learning/version-offsets.ts'
import { checkModelTopics } from '../model-topic/check-topics.ts'
import { createKeptTopics, deltasTopic } from '../model-topic/topics.ts'
import { ModelRegistry } from '../registry/model-registry.ts'
import type { ServedJob } from '../served-job.ts'
import { type ModelJob, type ServeModelOptions, serveModel } from './model.ts'
import { registryPlace } from './registry-place.ts'

/** Options of a job that serves a model and learns it. */
export interface ServeLearningOptions extends Omit<ServeModelOptions, 'coordinators'> {
  /** Every slot learns on this version; called again after every restart. */
  readonly onLearning?: (version: number) => void
  /** Receives warnings about the settings of the model's topics. */
  readonly onWarning?: (warning: string) => void
}

/** A job that serves a kind of model and learns it. */
export interface LearningJob<
  O extends Readonly<Record<string, unknown>>,
  M extends LearnableVersion,
  C,
> {
  readonly model: ModelJob<O>
  readonly coordinator: LearningCoordinator<M, C>
  /** Topics that the job reads and writes besides those of the model. */
  readonly topics: readonly string[]
  /** The metadata of a version that went live. */
  metadataOf(version: number, marker: ModelVersionMarker): M | Promise<M>
}

/**
 * Starts a job that serves a model and learns it; creates its topics where they are missing. Throws
 * UNKNOWN_TOPIC when no model was published, TOPIC_EXISTS when the topic of the deltas is compacted.
 */
export async function serveLearning<
  O extends Readonly<Record<string, unknown>>,
  M extends LearnableVersion,
  C,
>(job: LearningJob<O, M, C>, options: ServeLearningOptions): Promise<ServedJob> {
  const { coordinator } = job
  await createTopics(job.topics, options)
  const served = await serveModel(job.model, {
    ...options,
    coordinators: coordinator.coordinators,
    onLive: (version, marker, rows) => {
      options.onLive(version, marker, rows)
      coordinator.live(version, job.metadataOf(version, marker))
    },
  })
  served.execution.onStatus(({ to }) => {
    if (to === 'SUSPENDED') coordinator.close()
  })
  return served
}

async function createTopics(
  names: readonly string[],
  { topic, data, place = { logDirectory: data.log }, onWarning }: ServeLearningOptions,
): Promise<void> {
  await using topics = await openTopics(place)
  await createKeptTopics(topics, [...names, deltasTopic(topic)])
  for (const warning of await checkModelTopics(topics, topic)) onWarning?.(warning)
}

/** Attempts to read what the registry says of a version, and the time between two. */
const READS = 50
const READ_EVERY_MS = 100

/**
 * Where a version resumes in the observations, by the registry. Reads again while a broker or a file is
 * being changed; empty after the last attempt.
 */
export async function resumeOffsetsIn(
  version: number,
  observations: string,
  { data, topic, place = { logDirectory: data.log } }: ServeLearningOptions,
): Promise<readonly ResumeOffset[]> {
  const clock = systemClock
  const registry = new ModelRegistry({ place: registryPlace(place, data.root), clock })
  for (let attempt = 0; attempt < READS; attempt++) {
    try {
      return await resumeOffsetsOf(version, { registry, place, model: topic, observations })
    } catch {
      await sleep(clock, READ_EVERY_MS)
    }
  }
  return []
}
