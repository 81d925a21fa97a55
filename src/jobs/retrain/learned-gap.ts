import type { PartitionBounds } from '../../connectors/topics/store.ts'
import {
  type PresentTopic,
  placeOfRange,
  rangesHere,
} from '../../models/registry/ranges/range-place.ts'
import type { LearningTopic, RegisteredVersion } from '../../models/registry/version.ts'

/** What is known of the observations of a model before it is trained again. */
export interface LearnedFacts {
  /** What a job says that it learns the model from. */
  readonly learning: LearningTopic
  /** The version that it learns. */
  readonly live: RegisteredVersion
  /** The topic of observations that is here, and what it has. */
  readonly present: PresentTopic
  readonly bounds: readonly PartitionBounds[]
}

/**
 * What a job has learned and a training on all that the topic has would not see, in words; undefined if there is nothing, or
 * if the model is learned from a topic of another name: who names that topic has said so. Of a version that was
 * trained elsewhere it is not known where its learning began.
 */
export function learnedGap({ learning, live, present, bounds }: LearnedFacts): string | undefined {
  const { learnsFrom: topic, learnsFromId } = learning
  if (topic !== present.topic) return undefined
  const learned = { topic, ...(learnsFromId === undefined ? {} : { topicId: learnsFromId }) }
  if (placeOfRange(learned, present) === 'elsewhere') {
    return `topic ${topic} was created again since a job learned version ${live.number} from it`
  }
  const removed = removedSince(live, present, bounds)
  if (removed === 0) return undefined
  return `topic ${topic} has removed ${removed} records that came after the training of version ${live.number}, and that a job may have learned`
}

/** Number of records between the end of a training and the start of the topic. */
function removedSince(
  { lineage: { ranges, replayed = [] } }: RegisteredVersion,
  present: PresentTopic,
  bounds: readonly PartitionBounds[],
): number {
  const trained = rangesHere([...ranges, ...replayed], present)
  return bounds.reduce((sum, { partition, start }) => {
    const ends = trained.filter((range) => range.partition === partition).map(({ to }) => to)
    return ends.length === 0 ? sum : sum + Math.max(0, start - Math.max(...ends))
  }, 0)
}
