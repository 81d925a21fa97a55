import type { PartitionBounds } from '../../connectors/topics/store.ts'
import type { TrainedInTopic } from '../../models/observations/trained-in-topic.ts'
import type { ModelVersionMarker } from '../../models/registry/version-marker.ts'
import type { ResumeOffset } from '../learning/resume-offsets.ts'
import type { VersionOffsets } from '../learning/version-offsets.ts'
import { originText } from './training-origin.ts'

/** Where learning begins in a topic. */
export type LearnFrom = 'start' | 'end'

/** What is known when a job without a checkpoint begins to learn on a version. */
export interface FirstFacts {
  /** Where the version says that it resumes. */
  readonly offsets: VersionOffsets
  /** Topic of observations. */
  readonly observations: string
  readonly bounds: readonly PartitionBounds[]
  /** What it says of its training. */
  readonly marker: Pick<ModelVersionMarker, 'trainedOn' | 'metrics'>
  /** Whether the topic has what the version was trained on; undefined where that is not known or not needed. */
  readonly inTopic: TrainedInTopic | undefined
  /** What the person who started the job said. */
  readonly learnFrom: LearnFrom | undefined
}

/** Where a job without a checkpoint begins in the observations. `note`: for the person who started it. */
export type FirstObservations =
  /** Where the version says. */
  | {
      readonly kind: 'resumes'
      readonly offsets: readonly ResumeOffset[]
      readonly note?: string
    }
  /** With all that are there. */
  | { readonly kind: 'all'; readonly note?: string }
  /** At these offsets. */
  | { readonly kind: 'at'; readonly offsets: readonly ResumeOffset[]; readonly note: string }
  /** Nobody knows, and to guess would learn observations twice, or never: the person must say it. */
  | { readonly kind: 'ask'; readonly question: string }

/** Decides where learning begins, without learning twice what the version was trained on. */
export function decideFirstObservations(facts: FirstFacts): FirstObservations {
  const { offsets, observations, bounds, learnFrom, inTopic } = facts
  if (offsets.kind === 'resumes') return resumed(observations, offsets)
  const present = bounds.reduce((sum, { start, end }) => sum + end - start, 0)
  if (present === 0) return { kind: 'all' }
  const origin = originOf(facts)
  const records = `the ${counted(present)} records of topic ${observations} that are there`
  if (learnFrom === 'start') return { kind: 'all' }
  if (learnFrom === 'end') {
    const ends = bounds.map(({ partition, start, end }) => ({ partition, start, next: end }))
    return { kind: 'at', offsets: ends, note: `${origin}; ${records} are left out` }
  }
  if (inTopic?.kind === 'first') return after(inTopic, facts)
  const choice =
    '--learn-from start learns them all, --learn-from end none of them and what comes from now on'
  if (offsets.kind === 'other-records') {
    return {
      kind: 'ask',
      question: `it was trained on topic ${observations}, but not on the records that are there now (${offsets.what}): the topic was rewritten, or it is a copy that went its own way. Say what to do with ${records}: ${choice}`,
    }
  }
  if (inTopic === undefined || offsets.kind === 'elsewhere') {
    const note = `${origin}, so ${records} are learned (--learn-from end leaves them out)`
    return { kind: 'all', note }
  }
  if (inTopic.count === inTopic.newer) {
    return { kind: 'all', note: `${origin}; ${records} are newer, so they are learned` }
  }
  return {
    kind: 'ask',
    question: `${origin}, and the first records of the topic are not these observations as a whole, so some of ${records} may be among them: they would be learned twice. Say what to do with them: ${choice}`,
  }
}

/** Where a job that learns already goes on, on a version that goes live for the first time. */
export type LaterObservations =
  | (FirstObservations & { readonly kind: 'resumes' | 'at' })
  /** Where it is: what it has learned before is not learned on the version. */
  | { readonly kind: 'goes-on'; readonly note: string }

/**
 * Decides where learning goes on on a version that goes live for the first time beside a job that learns already: after what
 * the version was trained on, so that it learns what the versions before have learned. Where that is not known, it goes on
 * where it is, which is said.
 */
export function decideLaterObservations(facts: FirstFacts): LaterObservations {
  const { offsets, observations, bounds, inTopic } = facts
  if (offsets.kind === 'resumes') return resumed(observations, offsets)
  if (inTopic?.kind === 'first') return after(inTopic, facts)
  const origin = originOf(facts)
  if (inTopic !== undefined && inTopic.count === inTopic.newer) {
    const starts = bounds.map(({ partition, start }) => ({ partition, start, next: start }))
    const note = `${origin}; all records of topic ${observations} are newer, so they are learned`
    return { kind: 'at', offsets: starts, note }
  }
  const note = `${origin}, so learning goes on where it is in topic ${observations}; what was learned before is not in this version`
  return { kind: 'goes-on', note }
}

function resumed(
  observations: string,
  { offsets, isAssumed, isGone }: VersionOffsets & { readonly kind: 'resumes' },
): FirstObservations & { readonly kind: 'resumes' } {
  if (isAssumed) {
    return {
      ...{ kind: 'resumes', offsets },
      note: `it does not say the id of the topic that it was trained on: topic ${observations} is taken for it, and learning begins after the training`,
    }
  }
  if (!isGone) return { kind: 'resumes', offsets }
  return {
    ...{ kind: 'resumes', offsets },
    note: `topic ${observations} has removed the records that it was trained on, so they cannot be compared; learning begins after the training`,
  }
}

/** After the observations of the training, which are the first ones of the topic. */
function after(
  { next, count }: TrainedInTopic & { readonly kind: 'first' },
  facts: FirstFacts,
): FirstObservations & { readonly kind: 'at' } {
  const { bounds, observations, marker } = facts
  const offsets = bounds.map(({ partition, start }) => ({
    ...{ partition, start },
    next: next.get(partition) ?? start,
  }))
  const names = (marker.trainedOn?.files ?? []).map(({ file }) => file).join(' and ')
  const origin = names === '' ? '' : `of ${names} `
  const note = `the first ${counted(count)} observations of topic ${observations} are those ${origin}that it was trained on, so learning begins after them`
  return { kind: 'at', offsets, note }
}

function originOf({ offsets, observations, marker }: FirstFacts): string {
  return offsets.kind === 'elsewhere'
    ? `it was trained on another topic than this ${observations}`
    : originText(marker)
}

/** A number with separators of thousands. */
const counted = (count: number): string => count.toLocaleString('en-US')
