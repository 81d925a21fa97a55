import { openTopics } from '../../connectors/topics/open.ts'
import { sleep, systemClock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import type { LearnedPart } from '../../models/registry/learned-part.ts'
import { placeOfRange } from '../../models/registry/range-place.ts'
import type { ModelVersionMarker } from '../../models/registry/version-marker.ts'
import type { LearnableVersion } from '../learning/messages.ts'
import type { ResumeOffset } from '../learning/resume-offsets.ts'
import {
  placeOfObservations,
  resumeOffsetsOf,
  type VersionOffsetsOptions,
} from '../learning/version-offsets.ts'
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
  const offsets = offsetsOptions({ observations, learned }, options)
  const resumeOffsets = (await persistently(() => resumeOffsetsOf(version, offsets))) ?? []
  const isHere = learned !== undefined && (await areHere(learned, observations, options))
  return { resumeOffsets, folded: isHere ? decodeFolded(learned.folded, version) : [] }
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

/** Where a job without a checkpoint begins in the observations. */
export interface FirstObservations {
  /** What is learned, for the person who started the job; undefined where there is nothing to say. */
  readonly note: string | undefined
  /** Where learning begins; undefined for where the version says. */
  readonly resumeOffsets?: readonly ResumeOffset[]
}

/** A job that begins to learn on a version. */
export interface FirstVersion {
  readonly version: number
  readonly marker: ModelVersionMarker
  readonly observations: string
  readonly options: ModelPlace & { readonly learnFrom?: LearnFrom | undefined }
}

/**
 * What the first version of a job without a checkpoint learns of the observations that are there already. Where the version
 * was trained on this topic, those after its training. Else all of them, or, with `learnFrom: 'end'`, none: it may have been
 * trained on them, from a file.
 */
export async function firstObservations(
  isResuming: boolean,
  { version, marker, observations, options }: FirstVersion,
): Promise<FirstObservations> {
  const offsets = offsetsOptions({ observations, learned: marker.learned }, options)
  const place = await persistently(() => placeOfObservations(version, offsets))
  if (isResuming) {
    const note = `it does not say the id of the topic that it was trained on: topic ${observations} is taken for it, and learning begins after the training`
    return { note: place === 'taken-for-here' ? note : undefined }
  }
  const bounds = await persistently(async () => {
    await using topics = await openTopics(offsets.place)
    return await topics.bounds(observations)
  })
  if (bounds === undefined && options.learnFrom === 'end') {
    throw new WeirError(
      'CONNECTOR_FAILED',
      `the end of topic ${observations} could not be read for ${(READS * READ_EVERY_MS) / 1000} s, so what --learn-from end leaves out is not known`,
    )
  }
  const present = (bounds ?? []).reduce((sum, { start, end }) => sum + end - start, 0)
  if (bounds === undefined || present === 0) return { note: undefined }
  const origin =
    place === 'elsewhere'
      ? `it was trained on another topic than this ${observations}`
      : originText(marker)
  const records = `the ${present.toLocaleString('en-US')} records of topic ${observations} that are there`
  if (options.learnFrom !== 'end') {
    const learned = `${origin}, so ${records} are learned (--learn-from end leaves them out)`
    return { note: options.learnFrom === undefined ? learned : undefined }
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

/** Whether written rows were learned from the topic of observations that is here. */
async function areHere(
  { observations: topic, observationsId }: LearnedPart,
  observations: string,
  { data, place = { logDirectory: data.log } }: ModelPlace,
): Promise<boolean> {
  const range = { topic, ...(observationsId === undefined ? {} : { topicId: observationsId }) }
  const id = await persistently(async () => {
    await using topics = await openTopics(place)
    return (await topics.identity(observations)).id
  })
  return placeOfRange(range, { topic: observations, id: id ?? '' }) !== 'elsewhere'
}

function offsetsOptions(
  { observations, learned }: Pick<VersionOffsetsOptions, 'observations' | 'learned'>,
  { data, topic, place = { logDirectory: data.log } }: ModelPlace,
): VersionOffsetsOptions {
  const registry = registryOfJob({ data, place })
  return { registry, place, model: topic, observations, learned }
}
