import { WeirError } from '../../core/errors.ts'

/**
 * The topic to which offsets belong. A source stores it with each position of a checkpoint (`SourceSplit.origin`), as
 * JSON without blanks:
 *
 *   {"topic":"ratings","id":"5c8a...","partitions":4,"cluster":"MkU3..."}
 *
 * Earlier builds stored nothing for an embedded log, and the bare id for Kafka. The position is in a checkpoint, whose
 * file has a version and a checksum.
 */
export interface TopicOrigin {
  /** Name of the topic; undefined in a position of an earlier build. */
  readonly topic?: string | undefined
  /** Id of the topic, empty where it is not known. */
  readonly id: string
  /** Number of partitions at that time; 0 where it is not known. */
  readonly partitions: number
  /** Id of the Kafka cluster or of the embedded log; undefined where it is not known. */
  readonly cluster?: string | undefined
}

/** The text of an origin in a checkpoint. */
export function encodeOrigin({ topic, id, partitions, cluster }: TopicOrigin): string {
  return JSON.stringify({ topic, id, partitions, cluster })
}

/** Reads `encodeOrigin`'s text, and the bare ids of earlier builds. Throws MALFORMED_DATA. */
export function decodeOrigin(text: string): TopicOrigin {
  if (!text.startsWith('{')) return { id: text, partitions: 0 }
  try {
    const { topic, id, partitions, cluster } = JSON.parse(text) as Partial<TopicOrigin>
    if (typeof id === 'string' && typeof partitions === 'number') {
      return { topic, id, partitions, cluster }
    }
  } catch {
    // The error below says so.
  }
  throw new WeirError('MALFORMED_DATA', `a position of a checkpoint has the origin ${text}`)
}

/** How the topic of stored offsets and the topic that is read now are related. */
export type OriginMatch =
  | 'same'
  /** At least one id is not known, and nothing else tells them apart: positions of earlier builds. */
  | 'taken-for-same'
  /** A topic of another name. */
  | 'other-topic'
  /** A topic of the same name in another Kafka cluster, or in another embedded log. */
  | 'other-cluster'
  /** The topic was deleted and created again under its name. */
  | 'created-again'
  /** Another topic; the name of the old one is not known. */
  | 'other-id'

/** Decides whether offsets of the topic `stored` mean the same records in the topic `now`. */
export function matchOrigins(stored: TopicOrigin, now: TopicOrigin): OriginMatch {
  if (stored.id !== '' && stored.id === now.id) return 'same'
  const isOtherName = stored.topic !== undefined && stored.topic !== now.topic
  if (isOtherName) return 'other-topic'
  const areKnown = stored.cluster !== undefined && now.cluster !== undefined
  if (areKnown && stored.cluster !== now.cluster) return 'other-cluster'
  // The number of partitions of a topic only grows.
  if (stored.id === '' || now.id === '') {
    return stored.partitions > now.partitions ? 'created-again' : 'taken-for-same'
  }
  return stored.topic === undefined ? 'other-id' : 'created-again'
}

/** Requires that offsets of the topic `stored` may be used in the topic `now`. Throws TOPIC_CHANGED. */
export function requireSameTopic(stored: TopicOrigin, now: TopicOrigin): void {
  const match = matchOrigins(stored, now)
  if (match === 'same' || match === 'taken-for-same') return
  const message = `${REASONS[match](stored, now)}; ${adviceFor(match, stored)}`
  const details = {
    topic: now.topic ?? '',
    id: now.id,
    storedTopic: stored.topic ?? '',
    storedId: stored.id,
  }
  throw new WeirError('TOPIC_CHANGED', message, { details })
}

/** The error of a topic that was deleted and created again while a job reads it. */
export function topicCreatedAgain(topic: string): WeirError {
  const message = `${createdAgain(`topic "${topic}"`, '')}; ${adviceFor('created-again')}`
  return new WeirError('TOPIC_CHANGED', message, { details: { topic } })
}

type Refusal = Exclude<OriginMatch, 'same' | 'taken-for-same'>

const REASONS: Readonly<Record<Refusal, (stored: TopicOrigin, now: TopicOrigin) => string>> = {
  'other-topic': (stored, now) =>
    `the checkpoint has offsets of ${nameOf(stored)}, and the job reads ${nameOf(now)}, where they mean other records`,
  'other-cluster': (stored, now) =>
    `the checkpoint has offsets of topic "${now.topic}" of the log or cluster ${stored.cluster}, and the job reads the topic of this name of ${now.cluster}, where they mean other records`,
  'created-again': (stored, now) => createdAgain(nameOf(now), stored.id),
  'other-id': (stored, now) =>
    `the checkpoint has offsets of the topic with the id ${stored.id}, and the job reads ${nameOf(now)}: it is another topic, or it was deleted and created again`,
}

function createdAgain(topic: string, before: string): string {
  const id = before === '' ? '' : `; its id was ${before} before`
  return `${topic} was deleted and created again${id}: the offsets of this job mean other records in the new topic`
}

function nameOf({ topic, id }: TopicOrigin): string {
  return `topic "${topic}"${id === '' ? '' : ` (id ${id})`}`
}

function adviceFor(match: Refusal, stored?: TopicOrigin): string {
  const start =
    'start without this checkpoint, with another checkpoint folder (-D execution.checkpointing.dir=DIR); in a job of your own, you can give the source another uid and restore with allowNonRestoredState'
  if (match === 'other-topic') return `name topic "${stored?.topic}" to continue, or ${start}`
  if (match === 'other-cluster') return `read it where it was to continue, or ${start}`
  return `to read the new topic, ${start}`
}
