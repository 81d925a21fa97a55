import { isWeirError, WeirError } from '../../../core/errors.ts'
import type { FileSystem } from '../../../files/file-system.ts'
import { nodeFileSystem } from '../../../files/node-file-system.ts'
import {
  hasTopic,
  listTopics,
  partitionFolders,
  partitionPath,
  readTopicConfig,
  TRANSACTIONS_TOPIC,
  topicFilePath,
  topicPath,
} from '../storage/topic-config.ts'
import { checkPartition, type FileCheck, failedCheck } from './partition-check.ts'

/** A file of a topic, with the result of its check. */
export interface TopicFileCheck extends FileCheck {
  readonly topic: string
  /** Undefined for the topic's configuration. */
  readonly partition?: number
}

/**
 * Checks all files of a log's directory, or of one topic. The log may be in use. A file is checked when
 * its result is taken, so that the caller can stop between two. Throws FILE_NOT_FOUND, UNKNOWN_TOPIC.
 */
export function* checkLog(
  directory: string,
  topic?: string,
  files: FileSystem = nodeFileSystem,
): Generator<TopicFileCheck> {
  if (files.statSync(directory) === undefined) {
    throw new WeirError('FILE_NOT_FOUND', `${directory} does not exist; check --data-dir`)
  }
  const internal = hasTopic(directory, TRANSACTIONS_TOPIC, files) ? [TRANSACTIONS_TOPIC] : []
  const topics = topic === undefined ? [...internal, ...listTopics(directory, files)] : [topic]
  for (const name of topics) yield* checkTopic(files, directory, name)
}

function* checkTopic(
  files: FileSystem,
  directory: string,
  topic: string,
): Generator<TopicFileCheck> {
  const found = partitionFolders(files, topicPath(directory, topic)).sort((a, b) => a - b)
  const { partitions, isCompacted, check } = checkTopicFile(files, directory, topic)
  yield check
  for (const partition of found) {
    if (partition >= partitions) continue
    const path = partitionPath(directory, topic, partition)
    for (const one of checkPartition(files, path, isCompacted)) yield { topic, partition, ...one }
  }
}

/** The check of a `topic.json`, and what the checks of the partitions need from it. */
function checkTopicFile(
  files: FileSystem,
  directory: string,
  topic: string,
): {
  readonly partitions: number
  readonly isCompacted: boolean
  readonly check: TopicFileCheck
} {
  const file = topicFilePath(directory, topic)
  try {
    const { partitions, cleanupPolicy } = readTopicConfig(directory, topic, files)
    return { partitions, isCompacted: cleanupPolicy !== 'delete', check: { topic, file } }
  } catch (error) {
    if (isWeirError(error, 'UNKNOWN_TOPIC')) throw error
    // Gaps are no damage then: the topic may be compacted.
    return {
      partitions: Infinity,
      isCompacted: true,
      check: { topic, file, ...failedCheck(error) },
    }
  }
}
