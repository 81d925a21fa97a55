import { openTopics } from '../../connectors/topics/open.ts'
import { sleep, systemClock } from '../../core/clock.ts'
import type { ModelVersionMarker } from '../../models/registry/version-marker.ts'
import type { LearnableVersion } from '../learning/messages.ts'
import type { ResumeOffset } from '../learning/resume-offsets.ts'
import { resumeOffsetsOf, type VersionOffsetsOptions } from '../learning/version-offsets.ts'
import { decodeFolded } from '../learning/write-back/folded-deltas.ts'
import { requireDeltas } from '../learning/write-back/missing-deltas.ts'
import { deltasTopic } from '../model-topic/topics.ts'
import type { VersionCoordinator } from '../model-topic/version-coordinator.ts'
import type { ServedJob } from '../served-job.ts'
import type { ServeModelOptions } from './model.ts'
import { registryOfJob } from './registry-place.ts'
import { originText } from './training-origin.ts'

/** Where a job has its model. */
type ModelPlace = Pick<ServeModelOptions, 'data' | 'topic' | 'place'>

/** What the rows of a version include before this job learns on it. */
export async function learnedBefore(
  version: number,
  { learned }: ModelVersionMarker,
  job: { readonly observations: string; readonly options: ModelPlace },
): Promise<Pick<LearnableVersion, 'resumeOffsets' | 'folded'>> {
  const { observations, options } = job
  const resumeOffsets = await resumeOffsetsIn(version, { observations, learned }, options)
  const isSameTopic = learned?.observations === observations
  const folded = isSameTopic ? decodeFolded(learned.folded, version) : []
  return { resumeOffsets, folded }
}

/**
 * Requires the deltas of the version that a job begins on. One that continues from a checkpoint has its own
 * offsets, which its sources check. Throws OFFSET_OUT_OF_RANGE.
 */
export async function requireDeltasOf(
  version: number,
  {
    versions,
    options,
    job,
  }: {
    readonly versions: VersionCoordinator
    readonly options: ModelPlace
    readonly job: Promise<ServedJob>
  },
): Promise<void> {
  const { topic, data, place = { logDirectory: data.log } } = options
  const learned = versions.markerOf(version)?.learned
  if (learned?.deltas === undefined) return
  const { execution } = await job
  if (execution.checkpointStatistics?.latestRestored !== undefined) return
  const starts = await persistently(async () => {
    await using topics = await openTopics(place)
    return (await topics.bounds(deltasTopic(topic))).map(({ start }) => start)
  })
  requireDeltas({
    version,
    learned,
    others: versions.learnedBesides(version),
    topic: deltasTopic(topic),
    starts: starts ?? [],
  })
}

/** Where a job without a checkpoint begins in the observations of a version that does not say what it was trained on. */
export interface FirstObservations {
  /** What is learned, for the person who started the job; undefined where there is nothing to say. */
  readonly note: string | undefined
  /** Where learning begins; undefined for the start of the topic. */
  readonly resumeOffsets?: readonly ResumeOffset[]
}

/**
 * What the first version of a job without a checkpoint learns of the observations that are there already: all of them, or,
 * with `learnFrom: 'end'`, none. It may have been trained on them, from a file.
 */
export async function firstObservations(
  observations: string,
  marker: ModelVersionMarker,
  {
    data,
    place = { logDirectory: data.log },
    learnFrom,
  }: ModelPlace & { readonly learnFrom?: LearnFrom | undefined },
): Promise<FirstObservations> {
  const bounds = await persistently(async () => {
    await using topics = await openTopics(place)
    return await topics.bounds(observations)
  })
  const present = (bounds ?? []).reduce((sum, { start, end }) => sum + end - start, 0)
  if (bounds === undefined || present === 0) return { note: undefined }
  const origin = originText(marker)
  const records = `the ${present.toLocaleString('en-US')} records of topic ${observations} that are there`
  if (learnFrom !== 'end') {
    const learned = `${origin}, so ${records} are learned (--learn-from end leaves them out)`
    return { note: learnFrom === undefined ? learned : undefined }
  }
  return {
    note: `${origin}; ${records} are left out`,
    resumeOffsets: bounds.map(({ partition, start, end }) => ({ partition, start, next: end })),
  }
}

/** Where learning begins in a topic. */
export type LearnFrom = 'start' | 'end'

/** Attempts to read the registry or a topic, and the time between two. */
const READS = 50
const READ_EVERY_MS = 100

/** Reads again while a broker or a file is being changed; undefined after the last attempt. */
async function persistently<T>(read: () => Promise<T>): Promise<T | undefined> {
  for (let attempt = 0; attempt < READS; attempt++) {
    try {
      return await read()
    } catch {
      await sleep(systemClock, READ_EVERY_MS)
    }
  }
  return undefined
}

/** Where a version resumes in the observations, by the registry; empty where it cannot be read. */
async function resumeOffsetsIn(
  version: number,
  { observations, learned }: Pick<VersionOffsetsOptions, 'observations' | 'learned'>,
  { data, topic, place = { logDirectory: data.log } }: ModelPlace,
): Promise<readonly ResumeOffset[]> {
  const registry = registryOfJob({ data, place })
  const offsets = { registry, place, model: topic, observations, learned }
  return (await persistently(() => resumeOffsetsOf(version, offsets))) ?? []
}
