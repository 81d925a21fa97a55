import { openTopics } from '../../connectors/topics/open.ts'
import { TOPICS_PLACE, type TopicsPlace } from '../../connectors/topics/place.ts'
import { name, objectWith, required } from '../../core/options/kinds.ts'
import { checkOptions, nested, type OptionShape } from '../../core/options/shape.ts'
import { comparedRecords, formOf } from '../../models/observations/compared-records.ts'
import type { LearnedPart } from '../../models/registry/learned-part.ts'
import type { DataRange } from '../../models/registry/ranges/data-range.ts'
import { placeOfRange, rangesHere } from '../../models/registry/ranges/range-place.ts'
import type { ModelRegistry } from '../../models/versions/model-registry.ts'
import type { ResumeOffset } from './resume-offsets.ts'

/** Where a version and the observations that it has learned are looked up. */
export interface VersionOffsetsOptions {
  readonly registry: ModelRegistry
  /** Where the observations are. */
  readonly place: TopicsPlace
  readonly model: string
  /** Topic of observations. */
  readonly observations: string
  /** What the version's rows in the model topic include. */
  readonly learned?: LearnedPart | undefined
}

const VERSION_OFFSETS: OptionShape<VersionOffsetsOptions> = {
  registry: required(objectWith('a ModelRegistry', 'read', 'execute')),
  place: required(nested(TOPICS_PLACE)),
  model: required(name),
  observations: required(name),
  learned: objectWith('what a version has learned'),
}

/** Where a version resumes in the observations, as far as that is known. */
export type VersionOffsets =
  /** The version does not say what it was trained on. */
  | { readonly kind: 'not-said' }
  /** It was trained on another topic, also one of the same name: elsewhere, or before the topic was created again. */
  | { readonly kind: 'elsewhere' }
  /** The topic has other records where the version was trained. `what`: what differs, in words. */
  | { readonly kind: 'other-records'; readonly what: string }
  | {
      readonly kind: 'resumes'
      readonly offsets: readonly ResumeOffset[]
      /** The version does not say the id of the topic: the one of this name is taken for it. */
      readonly isAssumed: boolean
      /** The topic has removed the records that the version was trained on, so they cannot be compared. */
      readonly isGone: boolean
    }

/**
 * Where a version resumes in each partition of the observations, by what it was trained on, what was
 * replayed onto it and what was written back. Empty where that was another topic, also one of the same name, as it is
 * for a version from elsewhere and where the topic was created again since, and where the topic has other records than
 * those that the version was trained on.
 */
export async function resumeOffsetsOf(
  number: number,
  options: VersionOffsetsOptions,
): Promise<readonly ResumeOffset[]> {
  checkOptions('resumeOffsetsOf', VERSION_OFFSETS, options)
  const found = await versionOffsets(number, options)
  return found.kind === 'resumes' ? found.offsets : []
}

/** As `resumeOffsetsOf`, with the reason where the version resumes nowhere. */
export async function versionOffsets(
  number: number,
  { registry, model, learned, place, observations: topic }: VersionOffsetsOptions,
): Promise<VersionOffsets> {
  const version = (await registry.read()).versions.get(model)?.get(number)
  const { ranges = [], replayed = [] } = version?.lineage ?? {}
  const trained = [...ranges, ...replayed]
  const all = [...trained, ...rangesOf(learned)]
  if (all.length === 0) return { kind: 'not-said' }
  await using topics = await openTopics(place)
  const present = { topic, id: (await topics.identity(topic)).id }
  const covered = rangesHere(all, present)
  if (covered.length === 0) return { kind: 'elsewhere' }
  const form = version === undefined ? ({ kind: 'ratings' } as const) : formOf(version)
  const compared = await comparedRecords(topics, rangesHere(trained, present), {
    ...form,
    part: 'last',
  })
  if (compared.kind === 'other') return { kind: 'other-records', what: compared.what }
  const bounds = await topics.bounds(topic)
  const nextOf = (partition: number): number =>
    Math.max(0, ...covered.filter((range) => range.partition === partition).map(({ to }) => to))
  const short = bounds.find(({ partition, end }) => nextOf(partition) > end)
  const lost = covered.find(({ partition }) => partition >= bounds.length)
  if (short !== undefined || lost !== undefined) {
    const partition = short?.partition ?? lost!.partition
    const what = `${topic}/${partition} ends before offset ${nextOf(partition)}, up to which the version has learned`
    return { kind: 'other-records', what }
  }
  return {
    kind: 'resumes',
    offsets: bounds.map(({ partition, start }) => ({ partition, start, next: nextOf(partition) })),
    isAssumed: covered.some((range) => placeOfRange(range, present) === 'taken-for-here'),
    isGone: compared.kind === 'gone',
  }
}

/** What was learned, as ranges of which the start is not known. */
function rangesOf(
  learned: LearnedPart | undefined,
): Pick<DataRange, 'topic' | 'topicId' | 'partition' | 'to'>[] {
  if (learned === undefined) return []
  const { observations: topic, observationsId, next } = learned
  const id = observationsId === undefined ? {} : { topicId: observationsId }
  return next.map((to, partition) => ({ topic, ...id, partition, to: Math.max(0, to) }))
}
