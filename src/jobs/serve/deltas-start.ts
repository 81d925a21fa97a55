import { openTopics } from '../../connectors/topics/open.ts'
import type { PartitionBounds } from '../../connectors/topics/store.ts'
import { isWeirError } from '../../core/errors.ts'
import { placeOfRange } from '../../models/registry/ranges/range-place.ts'
import type { LearningTopic } from '../../models/registry/version.ts'
import { deltasTopic } from '../../models/topic/topics.ts'
import type { ServeModelOptions } from './model.ts'
import { registryOfJob } from './registry-place.ts'

/** Where a learner without a checkpoint begins in the deltas of its model. */
export interface DeltasStart {
  /** What the registry must know when learning has begun. */
  readonly learning: LearningTopic
  /** By partition of the deltas, the first offset; undefined for the start. */
  readonly offsets: readonly number[] | undefined
  /** The other topic that the model was learned from before; undefined if there is none. */
  readonly before: string | undefined
}

/**
 * Decides where the deltas of the present observations begin. Deltas name their observations by offset alone: those of
 * another topic would make new ones look like duplicates, so they are left out, now and at each later start.
 * `bounds`: of the deltas topic.
 */
export function decideDeltasStart(
  known: LearningTopic,
  present: { readonly topic: string; readonly id: string },
  bounds: readonly PartitionBounds[],
): DeltasStart {
  const { learnsFrom: topic, learnsFromId, deltasFrom } = known
  const range = {
    topic: topic ?? '',
    ...(learnsFromId === undefined ? {} : { topicId: learnsFromId }),
  }
  const isOther = topic !== undefined && placeOfRange(range, present) === 'elsewhere'
  const kept = isOther ? bounds.map(({ end }) => end) : deltasFrom
  const learning = {
    learnsFrom: present.topic,
    ...(present.id === '' ? {} : { learnsFromId: present.id }),
    ...(kept === undefined ? {} : { deltasFrom: kept }),
  }
  const offsets = kept && bounds.map((partition, n) => firstOf(partition, kept[n] ?? 0))
  return { learning, offsets, before: isOther ? topic : undefined }
}

/** The first offset from `from` on; the start of a partition that has been created again since. */
function firstOf({ start, end }: PartitionBounds, from: number): number {
  return from > end ? start : Math.max(start, from)
}

/** As `decideDeltasStart`, of the job's topics, which exist. A registry that cannot be read knows of no other topic. */
export async function deltasStart(
  observations: string,
  {
    topic,
    data,
    place = { logDirectory: data.log },
    onWarning,
  }: Pick<ServeModelOptions, 'topic' | 'data' | 'place' | 'onWarning'>,
): Promise<DeltasStart> {
  const known = await registryOfJob({ data, place })
    .read()
    .then(({ models }) => models.get(topic) ?? {})
    .catch((error: unknown): LearningTopic => {
      if (!isWeirError(error)) throw error
      onWarning?.(
        `the registry does not say what ${topic} was learned from before (${error.message}): if that was another topic than ${observations}, learn from a new model topic`,
      )
      return {}
    })
  await using topics = await openTopics(place)
  const present = { topic: observations, id: (await topics.identity(observations)).id }
  return decideDeltasStart(known, present, await topics.bounds(deltasTopic(topic)))
}
