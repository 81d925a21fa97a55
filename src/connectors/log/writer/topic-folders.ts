import { join } from 'node:path'
import type { FileSystem } from '../../../files/file-system.ts'
import { type TopicConfig, topicPath, writeTopicConfig } from '../storage/topic-config.ts'

/** Creates the folder of a topic with its configuration: the whole of it, durably, or nothing. */
export async function createTopicFolder(
  files: FileSystem,
  directory: string,
  { topic, config }: { readonly topic: string; readonly config: TopicConfig },
): Promise<void> {
  const temporary = join(directory, `.new-${topic}`)
  await files.removeTree(temporary)
  await files.makeFolder(temporary)
  writeTopicConfig(files, temporary, config)
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
