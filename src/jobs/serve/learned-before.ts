import { openTopics } from '../../connectors/topics/open.ts'
import { sleep, systemClock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { hashingOf } from '../../core/features/hashing.ts'
import {
  type TrainedObservations,
  trainedInTopic,
} from '../../models/observations/trained-in-topic.ts'
import type { LearnedPart } from '../../models/registry/learned-part.ts'
import { placeOfRange } from '../../models/registry/ranges/range-place.ts'
import type { VersionNote } from '../../models/registry/version.ts'
import type { ModelVersionMarker } from '../../models/registry/version-marker.ts'
import { deltasTopic } from '../../models/topic/topics.ts'
import type { VersionCoordinator } from '../../models/topic/version-coordinator.ts'
import type { LearnableVersion } from '../learning/messages.ts'
import {
  type VersionOffsets,
  type VersionOffsetsOptions,
  versionOffsets,
} from '../learning/version-offsets.ts'
import { learnedFacts } from '../learning/write-back/checkpoint-facts.ts'
import { decodeFolded } from '../learning/write-back/folded-deltas.ts'
import type { LearnedModel } from '../learning/write-back/learned-model.ts'
import { requireDeltas } from '../learning/write-back/missing-deltas.ts'
import type { ServedJob } from '../served-job.ts'
import {
  decideFirstObservations,
  decideLaterObservations,
  type FirstFacts,
  type FirstObservations,
  type LaterObservations,
  type LearnFrom,
} from './first-observations.ts'
import type { ServeModelOptions } from './model.ts'
import { registryOfJob } from './registry-place.ts'

/** Where a job has its model. */
type ModelPlace = Pick<ServeModelOptions, 'data' | 'topic' | 'place' | 'onWarning'>

/** What the rows of a version include before this job learns on it. */
export async function learnedBefore(
  version: number,
  { learned }: ModelVersionMarker,
  job: { readonly observations: string; readonly options: ModelPlace },
): Promise<Pick<LearnableVersion, 'resumeOffsets' | 'folded'>> {
  const { observations, options } = job
  const offsets = offsetsOptions({ observations, learned }, options)
  const found = await persistently(() => versionOffsets(version, offsets))
  const resumeOffsets = found?.kind === 'resumes' ? found.offsets : []
  if (found?.kind === 'other-records') {
    options.onWarning?.(
      `version ${version} was trained on topic ${observations}, but not on the records that are there now (${found.what})`,
    )
  }
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

/** By partition, the end of the deltas topic of a model. Throws CONNECTOR_FAILED if it cannot be read. */
export async function deltaEnds({
  topic,
  data,
  place = { logDirectory: data.log },
}: ModelPlace): Promise<readonly number[]> {
  const bounds = await persistently(async () => {
    await using topics = await openTopics(place)
    return await topics.bounds(deltasTopic(topic))
  })
  if (bounds !== undefined) return bounds.map(({ end }) => end)
  throw new WeirError(
    'CONNECTOR_FAILED',
    `the deltas of ${topic} could not be read for ${(READS * READ_EVERY_MS) / 1000} s, so which of them earlier learners have sent is not known`,
  )
}

/**
 * By partition of the observations, the first offset that a version had not learned in the checkpoint that a job began from;
 * undefined where that does not have the version.
 */
export function restoredNext(
  version: number,
  { checkpointStatistics }: ServedJob['execution'],
  model: LearnedModel,
): readonly number[] | undefined {
  const manifest = checkpointStatistics?.restoredManifest
  const facts = manifest && learnedFacts(manifest, model)
  if (facts?.versions.includes(version) !== true) return undefined
  return facts.next(version).map((offset) => Math.max(0, offset))
}

/** A job that begins to learn on a version. */
export interface FirstVersion {
  readonly version: number
  readonly marker: ModelVersionMarker
  readonly observations: string
  readonly options: ModelPlace & { readonly learnFrom?: LearnFrom | undefined }
}

/** Where a job without a checkpoint begins in the observations. Throws CONNECTOR_FAILED if they cannot be read. */
export async function firstObservations(first: FirstVersion): Promise<FirstObservations> {
  return decideFirstObservations(await factsOf(first))
}

/**
 * Where a job that learns already goes on, on another version; undefined for one that was live before, which goes on where
 * it was left. Throws CONNECTOR_FAILED.
 */
export async function laterObservations(
  later: FirstVersion,
): Promise<LaterObservations | undefined> {
  const { version, options } = later
  const { data, topic, place = { logDirectory: data.log } } = options
  const registry = registryOfJob({ data, place })
  const state = await persistently(() => registry.read())
  const notes = state?.versions.get(topic)?.get(version)?.notes ?? []
  if (notes.filter(({ event }) => BECAME_LIVE.has(event)).length > 1) return undefined
  return decideLaterObservations(
    await factsOf({ ...later, options: { ...options, learnFrom: undefined } }),
  )
}

const BECAME_LIVE: ReadonlySet<VersionNote['event']> = new Set([
  'promoted',
  'forced',
  'rolled-back-to',
])

async function factsOf({
  version,
  marker,
  observations,
  options,
}: FirstVersion): Promise<FirstFacts> {
  const offsetsOfVersion = offsetsOptions({ observations, learned: marker.learned }, options)
  const read = async () => {
    const offsets = await versionOffsets(version, offsetsOfVersion)
    await using topics = await openTopics(offsetsOfVersion.place)
    const bounds = await topics.bounds(observations)
    const trained = trainedObservations(marker, offsets)
    const isAsked = options.learnFrom === undefined && trained !== undefined
    const inTopic = isAsked ? await trainedInTopic(topics, observations, trained) : undefined
    return { offsets, bounds, inTopic }
  }
  const found = await persistently(read)
  if (found === undefined) {
    throw new WeirError(
      'CONNECTOR_FAILED',
      `topic ${observations} could not be read for ${(READS * READ_EVERY_MS) / 1000} s, so where learning begins is not known`,
    )
  }
  return { ...found, observations, marker, learnFrom: options.learnFrom }
}

/** What a version was trained on, where the topic may have it, too. */
function trainedObservations(
  { trainedOn, users, hyperparameters }: ModelVersionMarker,
  { kind }: VersionOffsets,
): TrainedObservations | undefined {
  const digest = trainedOn?.files.at(0)?.read
  if (kind !== 'not-said' || digest === undefined) return undefined
  return {
    kind: users === 0 ? 'examples' : 'ratings',
    hashing: hashingOf(hyperparameters),
    digest,
    newestEventMs: trainedOn?.newestEventMs ?? -1,
  }
}

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
