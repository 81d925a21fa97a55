import { isWeirError } from '../../../core/errors.ts'
import { readFileSync } from '../../../files/durable-files.ts'
import type { FileSystem } from '../../../files/file-system.ts'
import {
  decodeTopicFile,
  partitionFolders,
  partitionPath,
  type StoredTopic,
  TOPIC_FILE_VERSION,
  TRANSACTIONS_CONFIG,
  TRANSACTIONS_TOPIC,
  topicFilePath,
  topicPath,
  writeTopicConfig,
} from '../storage/topic-config.ts'
import { copyAside, damagedName, type FileRepair } from './file-repair.ts'

/**
 * Plans the repair of a `topic.json`: the internal topic's is known, and one flipped bit is found by the
 * checksum. Otherwise the result has advice: what to write into it. `apply` carries it out. The caller holds
 * the log's lock.
 */
export function repairTopicFile(
  files: FileSystem,
  directory: string,
  { topic, apply }: { readonly topic: string; readonly apply: boolean },
): FileRepair {
  const file = topicFilePath(directory, topic)
  const exists = files.statSync(file) !== undefined
  const config =
    topic === TRANSACTIONS_TOPIC
      ? { ...TRANSACTIONS_CONFIG, id: '' }
      : exists
        ? withoutFlippedBit(file, readFileSync(files, file))
        : undefined
  if (config === undefined) {
    const advice = adviceFor(files, directory, topic)
    return { file, saved: undefined, lost: [], advice }
  }
  const saved = exists ? damagedName(files, file) : undefined
  if (apply) {
    if (saved !== undefined) copyAside(files, file, saved)
    writeTopicConfig(files, topicPath(directory, topic), config)
  }
  return { file, saved, lost: [] }
}

/** The configuration if flipping one bit gives bytes that fit their checksum; undefined if none does. */
function withoutFlippedBit(file: string, damaged: Uint8Array): StoredTopic | undefined {
  const bytes = damaged.slice()
  for (let bit = 0; bit < 8 * bytes.length; bit++) {
    bytes[bit >> 3]! ^= 1 << (bit & 7)
    const config = decoded(file, bytes)
    if (config !== undefined) return config
    bytes[bit >> 3]! ^= 1 << (bit & 7)
  }
  return undefined
}

/** The configuration; undefined if the bytes do not fit their checksum, or have none (version 1). */
function decoded(file: string, bytes: Uint8Array): StoredTopic | undefined {
  if (!new TextDecoder().decode(bytes).includes(`"version": ${TOPIC_FILE_VERSION}`))
    return undefined
  try {
    return decodeTopicFile(file, bytes)
  } catch (error) {
    if (isWeirError(error)) return undefined
    throw error
  }
}

function adviceFor(files: FileSystem, directory: string, topic: string): string {
  const partitions = partitionFolders(files, topicPath(directory, topic))
  const isCompacted = partitions.some(
    (partition) =>
      files.statSync(`${partitionPath(directory, topic, partition)}/compacted`) !== undefined,
  )
  const least = Math.max(0, ...partitions) + 1
  const cleanupPolicy = isCompacted ? 'compact' : 'delete'
  const text = JSON.stringify({ version: 1, partitions: least, cleanupPolicy })
  return `restore it from a copy, or write ${text} into it. Put in the number of partitions with which the topic was created (at least ${least}): with another one the keys change their partition. "delete" without limits removes nothing; docs/reference/log-format.md has the other settings`
}
