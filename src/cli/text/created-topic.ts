import type { CleanupPolicy } from '../../connectors/records/topic-options.ts'
import type { TopicDescription } from '../../connectors/topics/store.ts'
import { counted } from './counted.ts'

/** What becomes of the records of a topic without limits. */
const WITHOUT_LIMITS: Readonly<Record<CleanupPolicy, string>> = {
  delete: 'it keeps every record',
  compact: 'it keeps the last record of each key (compaction)',
  both: 'it keeps the last record of each key (compaction)',
}

/** What becomes of the records of a topic with an age limit or a size limit. */
const WITH_LIMITS: Readonly<Record<CleanupPolicy, string>> = {
  delete: 'it deletes the oldest records above its limits',
  compact: WITHOUT_LIMITS.compact,
  both: 'it keeps the last record of each key (compaction) and deletes the oldest above its limits',
}

/** The sentence about a topic that was created: its partitions, and which records it keeps. */
export function createdTopic(name: string, description: TopicDescription): string {
  const { partitions, cleanupPolicy, retentionMs, retentionBytes } = description
  const created = `created ${name} with ${counted(partitions, 'partition')}`
  if (cleanupPolicy === undefined) return created
  const limits = [retentionMs, retentionBytes].filter((limit) => limit !== undefined && limit >= 0)
  const kept = limits.length === 0 ? WITHOUT_LIMITS : WITH_LIMITS
  return `${created}: ${kept[cleanupPolicy]}`
}
