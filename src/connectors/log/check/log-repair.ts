import { dirname } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { threadId } from 'node:worker_threads'
import { WeirError } from '../../../core/errors.ts'
import { nodeFileSystem } from '../../../files/node-file-system.ts'
import { identityPath } from '../storage/partition-identity.ts'
import { releaseLock, takeLock } from '../writer/directory-lock.ts'
import { repairAborted } from './aborted-repair.ts'
import type { FileRepair } from './file-repair.ts'
import { checkLog, type TopicFileCheck } from './log-check.ts'
import { repairIdentity, repairSegment, repairStatus } from './segment-repair.ts'
import { repairTopicFile } from './topic-repair.ts'

/** Options of `repairLog`. */
export interface RepairOptions {
  /** Default: all topics. */
  readonly topic: string | undefined
  /** Whether files are changed; else the result says what would be done. */
  readonly apply: boolean
}

/**
 * Repairs the damaged files of a log. Damaged bytes are kept under another name; what cannot be repaired has
 * advice. Nothing beside a file that a later build wrote is changed. Nothing is changed before the first result is taken, and a result is taken after each file. Throws
 * LOG_LOCKED while a process writes to the log.
 */
export async function* repairLog(
  directory: string,
  { topic, apply }: RepairOptions,
): AsyncGenerator<FileRepair> {
  if (takeLock(directory, threadId).kind !== 'taken') {
    throw new WeirError('LOG_LOCKED', `this process uses the log in ${directory}; close it first`)
  }
  try {
    const found = await unreadableFiles(directory, topic)
    found.sort((a, b) => repairOrder(a) - repairOrder(b))
    for (const check of found) {
      yield newerBeside(check, found) ?? repairFile(directory, check, apply)
      await setImmediate()
    }
  } finally {
    releaseLock(directory, threadId)
  }
}

/** The result of a file that belongs to a later build, or lies beside one of it; undefined for others. */
function newerBeside(
  { file, topic, partition }: TopicFileCheck,
  found: readonly TopicFileCheck[],
): FileRepair | undefined {
  const newer = found.find(
    (other) =>
      other.newer !== undefined &&
      other.topic === topic &&
      (other.partition === undefined || other.partition === partition),
  )
  if (newer === undefined) return undefined
  const beside = newer.file === file ? '' : 'a file beside it is of a later build: '
  const advice = `${beside}${newer.newer}; nothing was changed`
  return { file, saved: undefined, lost: [], advice }
}

async function unreadableFiles(directory: string, topic?: string): Promise<TopicFileCheck[]> {
  const damaged: TopicFileCheck[] = []
  for (const check of checkLog(directory, topic)) {
    if (check.damage !== undefined || check.newer !== undefined) damaged.push(check)
    // Signals of the user are handled between two files.
    await setImmediate()
  }
  return damaged
}

/** The repair of a segment reads the status; that of `aborted` reads the segments and the status. */
function repairOrder({ file, base }: TopicFileCheck): number {
  if (base !== undefined) return 0
  return file.endsWith('/aborted') ? 1 : 2
}

function repairFile(
  directory: string,
  { file, base, topic, partition }: TopicFileCheck,
  apply: boolean,
): FileRepair {
  if (partition === undefined) return repairTopicFile(nodeFileSystem, directory, { topic, apply })
  const path = dirname(file)
  if (base !== undefined) return repairSegment(nodeFileSystem, path, { base, apply })
  if (file.endsWith('/aborted')) return repairAborted(nodeFileSystem, path, apply)
  if (file === identityPath(path)) return repairIdentity(nodeFileSystem, path, apply)
  return repairStatus(nodeFileSystem, path, apply)
}
