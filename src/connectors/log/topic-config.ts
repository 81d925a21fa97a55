import * as fs from 'node:fs'
import { join } from 'node:path'
import { isWeirError, requireArgument, WeirError } from '../../core/errors.ts'

/** What happens to old records: deleted by age or size, reduced to the last of each key, or both. */
export type CleanupPolicy = 'delete' | 'compact' | 'both'

/** How a topic is kept. Sizes in bytes, times in ms. */
export interface TopicConfig {
  readonly partitions: number
  readonly cleanupPolicy: CleanupPolicy
  /** Oldest segments go while a partition is larger; -1 keeps all. */
  readonly retentionBytes: number
  /** Segments whose newest record is older go; -1 keeps all. */
  readonly retentionMs: number
  /** A segment ends when the next batch would make it larger. */
  readonly segmentBytes: number
  /** How long a tombstone stays after its segment was first compacted. */
  readonly deleteRetentionMs: number
  /** Compaction runs when at least this share of the closed bytes was never compacted, 0..1. */
  readonly minCleanableRatio: number
}

/** What a new topic gets where nothing else is said. */
export const DEFAULT_TOPIC_CONFIG: TopicConfig = {
  partitions: 1,
  cleanupPolicy: 'delete',
  retentionBytes: -1,
  retentionMs: -1,
  segmentBytes: 128 * 1024 * 1024,
  deleteRetentionMs: 24 * 3600 * 1000,
  minCleanableRatio: 0.5,
}

export const TOPIC_FILE_VERSION = 1
const TOPIC_FILE = 'topic.json'

/** Checks a topic's name: what Kafka allows. Throws INVALID_ARGUMENT. */
export function checkTopicName(topic: string): void {
  requireArgument(
    /^[A-Za-z0-9._-]{1,249}$/.test(topic) && topic !== '.' && topic !== '..',
    `"${topic}" is no topic name: use 1 to 249 letters, digits, dots, dashes and underscores`,
  )
}

/** Fills in defaults and checks ranges. Throws INVALID_ARGUMENT. */
export function topicConfig(given: Partial<TopicConfig>): TopicConfig {
  const config = { ...DEFAULT_TOPIC_CONFIG, ...given }
  requireArgument(
    Number.isInteger(config.partitions) && config.partitions >= 1 && config.partitions <= 65_536,
    `partitions must be 1 to 65536, not ${config.partitions}`,
  )
  requireArgument(
    config.segmentBytes >= 1 && config.segmentBytes <= 2 ** 31 - 1,
    `segmentBytes must be 1 to 2^31 - 1, not ${config.segmentBytes}`,
  )
  requireArgument(
    config.minCleanableRatio >= 0 && config.minCleanableRatio <= 1,
    `minCleanableRatio must be 0 to 1, not ${config.minCleanableRatio}`,
  )
  return config
}

/** Folder of a topic. */
export function topicPath(directory: string, topic: string): string {
  return join(directory, topic)
}

/** Folder of a partition. */
export function partitionPath(directory: string, topic: string, partition: number): string {
  return join(directory, topic, String(partition))
}

/** Stores a topic's configuration: written beside and renamed, so that it is whole or absent. */
export function writeTopicConfig(folder: string, config: TopicConfig): void {
  const target = join(folder, TOPIC_FILE)
  const temporary = `${target}.tmp`
  fs.writeFileSync(temporary, JSON.stringify({ version: TOPIC_FILE_VERSION, ...config }, null, 2), {
    flush: true,
  })
  fs.renameSync(temporary, target)
}

/** The configuration of a topic. Throws UNKNOWN_TOPIC, MALFORMED_DATA, UNSUPPORTED_VERSION. */
export function readTopicConfig(directory: string, topic: string): TopicConfig {
  checkTopicName(topic)
  let text: string
  try {
    text = fs.readFileSync(join(topicPath(directory, topic), TOPIC_FILE), 'utf8')
  } catch (cause) {
    const message = `topic "${topic}" does not exist in ${directory}; create it first`
    throw new WeirError('UNKNOWN_TOPIC', message, { cause, details: { topic } })
  }
  const { version, ...stored } = parseTopicFile(text, topic)
  if (version !== TOPIC_FILE_VERSION) {
    throw new WeirError('UNSUPPORTED_VERSION', `topic "${topic}" has file version ${version}`)
  }
  return topicConfig(stored)
}

function parseTopicFile(text: string, topic: string): Partial<TopicConfig> & { version?: unknown } {
  try {
    const parsed: unknown = JSON.parse(text)
    if (typeof parsed === 'object' && parsed !== null) return parsed
    throw new WeirError('MALFORMED_DATA', 'not an object')
  } catch (cause) {
    throw new WeirError('MALFORMED_DATA', `${TOPIC_FILE} of "${topic}" is broken`, { cause })
  }
}

/** Names of the topics in a log's directory, sorted; internal ones (`__...`) left out. */
export function listTopics(directory: string): string[] {
  let names: string[]
  try {
    names = fs.readdirSync(directory)
  } catch {
    return []
  }
  return names.filter((name) => !name.startsWith('__') && hasTopic(directory, name)).sort()
}

/** Whether the topic exists. */
export function hasTopic(directory: string, topic: string): boolean {
  try {
    readTopicConfig(directory, topic)
    return true
  } catch (error) {
    if (isWeirError(error, 'UNKNOWN_TOPIC') || isWeirError(error, 'INVALID_ARGUMENT')) return false
    throw error
  }
}
