import { join } from 'node:path'
import type { FileSystem } from '../../../files/file-system.ts'
import { idOfPartitions } from '../storage/partition-identity.ts'
import {
  readTopicConfig,
  type StoredTopic,
  topicPath,
  writeTopicConfig,
} from '../storage/topic-config.ts'

/** Creates the folder of a topic with its configuration: the whole of it, durably, or nothing. */
export async function createTopicFolder(
  files: FileSystem,
  directory: string,
  { topic, stored }: { readonly topic: string; readonly stored: StoredTopic },
): Promise<void> {
  const temporary = join(directory, `.new-${topic}`)
  await files.removeTree(temporary)
  await files.makeFolder(temporary)
  writeTopicConfig(files, temporary, stored)
  await files.rename(temporary, topicPath(directory, topic))
  try {
    await files.syncFolder(directory)
  } catch (error) {
    // The name may be lost at a power cut: the topic must be created again.
    await files.rename(topicPath(directory, topic), temporary)
    throw error
  }
}

/** Deletes the folder of a topic, whose partitions are closed. */
export async function deleteTopicFolder(
  files: FileSystem,
  directory: string,
  topic: string,
): Promise<void> {
  const deleted = join(directory, `.deleted-${topic}`)
  await files.removeTree(deleted)
  await files.rename(topicPath(directory, topic), deleted)
  // Before its files go: a topic must not come back with some of them.
  await files.syncFolder(directory)
  await files.removeTree(deleted)
}

/**
 * Gives a topic of an earlier build its id, durably: the one that its partitions have, if `topic.json` was written by
 * hand or repaired. Throws what `readTopicConfig` throws.
 */
export function assignTopicId(
  files: FileSystem,
  directory: string,
  { topic, newId }: { readonly topic: string; readonly newId: () => string },
): void {
  const stored = readTopicConfig(directory, topic, files)
  if (stored.id !== '') return
  const folder = topicPath(directory, topic)
  const id = idOfPartitions(files, folder) ?? newId()
  writeTopicConfig(files, folder, { ...stored, id })
}
