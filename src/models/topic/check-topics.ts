import type { TopicDescription, TopicStore } from '../../connectors/topics/store.ts'
import { isWeirError, WeirError } from '../../core/errors.ts'
import { deltasTopic } from './topics.ts'

const DAY_MS = 86_400_000

/**
 * Checks the cleanup settings of a model's topics, as far as this user may read them. Returns warnings
 * about records that retention will delete. Throws TOPIC_EXISTS when the topic of the deltas is
 * compacted: each delta is a part of its row, and compaction keeps only the last one.
 */
export async function checkModelTopics(
  topics: TopicStore,
  rowsTopic: string,
): Promise<readonly string[]> {
  const deltas = await described(topics, deltasTopic(rowsTopic))
  if (deltas?.cleanupPolicy === 'compact' || deltas?.cleanupPolicy === 'both') {
    const message = `topic "${deltas.topic}" is compacted, which deletes all deltas of a row but the last: the model loses what it learned; set cleanup.policy=delete, retention.ms=-1 and retention.bytes=-1 on it`
    throw new WeirError('TOPIC_EXISTS', message, { details: { topic: deltas.topic } })
  }
  const rows = await described(topics, rowsTopic)
  return [
    ...warning(rows, 'rows of the model', 'cleanup.policy=compact'),
    ...warning(deltas, 'deltas of the rows', 'retention.ms=-1 and retention.bytes=-1'),
  ]
}

async function described(topics: TopicStore, topic: string): Promise<TopicDescription | undefined> {
  try {
    return await topics.describe(topic)
  } catch (error) {
    if (isWeirError(error, 'UNKNOWN_TOPIC') || isWeirError(error, 'ACCESS_DENIED')) return undefined
    throw error
  }
}

function warning(topic: TopicDescription | undefined, what: string, remedy: string): string[] {
  if (topic === undefined || topic.cleanupPolicy === undefined) return []
  if (topic.cleanupPolicy === 'compact') return []
  const { retentionMs = -1, retentionBytes = -1 } = topic
  const limits = [
    ...(retentionMs < 0 ? [] : [`after ${days(retentionMs)}`]),
    ...(retentionBytes < 0 ? [] : [`above ${retentionBytes} bytes`]),
  ]
  if (limits.length === 0) return []
  return [`topic "${topic.topic}" deletes ${what} ${limits.join(' and ')}; set ${remedy} on it`]
}

function days(ms: number): string {
  return ms >= DAY_MS ? `${Math.round(ms / DAY_MS)} days` : `${ms} ms`
}
