import type { FileSystem } from '../../../files/file-system.ts'
import { idOfPartitions } from '../storage/partition-identity.ts'
import {
  readTopicConfig,
  type StoredTopic,
  topicPath,
  writeTopicConfig,
} from '../storage/topic-config.ts'

/*
 * Folders of a log that are no topics: the one that is being created, and the one that is being deleted. A name of a
 * topic has no "~", so neither is listed as a topic after a crash.
 */
const NEW = '~new'
const GONE = '~gone'

/** Creates the folder of a topic with its configuration: the whole of it, durably, or nothing. */
export async function createTopicFolder(
  files: FileSystem,
  directory: string,
  { topic, stored }: { readonly topic: string; readonly stored: StoredTopic },
): Promise<void> {
  const temporary = topicPath(directory, `${topic}${NEW}`)
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
  const deleted = topicPath(directory, `${topic}${GONE}`)
  await files.removeTree(deleted)
  await files.rename(topicPath(directory, topic), deleted)
  // Before its files go: a topic must not come back with some of them.
  await files.syncFolder(directory)
  await files.removeTree(deleted)
}

/** Removes what processes that died have left of topics that do not exist. */
export async function removeLeftovers(files: FileSystem, directory: string): Promise<void> {
  const names = files.listSync(directory).map(({ name }) => name)
  for (const name of names) {
    const end = [NEW, GONE].find((ending) => name.endsWith(ending))
    // After a power cut a file system may know a renamed folder by both names.
    if (end === undefined || names.includes(name.slice(0, -end.length))) continue
    await files.removeTree(topicPath(directory, name))
  }
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
