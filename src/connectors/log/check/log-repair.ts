import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { threadId } from 'node:worker_threads'
import { isWeirError, messageOf, WeirError } from '../../../core/errors.ts'
import { readFileSync } from '../../../files/durable-files.ts'
import type { FileSystem } from '../../../files/file-system.ts'
import { nodeFileSystem } from '../../../files/node-file-system.ts'
import { RecordBatchReader } from '../../../wire/batch/record-batch-reader.ts'
import {
  type AbortedRange,
  abortedPath,
  readAborted,
  rewriteAborted,
} from '../storage/aborted-index.ts'
import { identityPath, markOfFolder } from '../storage/partition-identity.ts'
import { findStatus, rewriteStatus } from '../storage/partition-status.ts'
import { listSegments, logFileName } from '../storage/segment-files.ts'
import { scanSegment } from '../storage/segment-scan.ts'
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
import { releaseLock, takeLock } from '../writer/directory-lock.ts'
import { copyAside, damagedName, type FileRepair } from './file-repair.ts'
import { checkLog, type TopicFileCheck } from './log-check.ts'
import { repairIdentity, repairSegment, repairStatus } from './segment-repair.ts'

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

/**
 * Plans the repair of a `topic.json`: the internal topic's is known, and one flipped bit is found by the
 * checksum. Otherwise the result has advice: what to write into it. `apply` carries it out. The caller holds
 * the log's lock.
 */
function repairTopicFile(
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

/** Type of a control record that ends a transaction as aborted. */
const ABORT = 0

/**
 * Plans the repair of the file `aborted` of a partition: the ranges are in the segments, between the
 * first record of a transaction and its abort marker. If a segment is damaged or was repaired within a
 * transaction, a marker may be lost; then the result has advice instead. `apply` carries it out. The caller
 * holds the log's lock.
 */
function repairAborted(files: FileSystem, path: string, apply: boolean): FileRepair {
  const file = abortedPath(path)
  const status = findStatus(files, path)
  let ranges: AbortedRange[]
  try {
    ranges = rebuildAborted(files, path)
  } catch (error) {
    const advice = `restore it from a copy; without it records of aborted transactions would be read. It cannot be built again: ${messageOf(error)}`
    return { file, saved: undefined, lost: [], advice }
  }
  const saved = files.statSync(file) === undefined ? undefined : damagedName(files, file)
  if (apply) {
    if (saved !== undefined) copyAside(files, file, saved)
    rewriteAborted(files, path, ranges)
    if (status !== undefined) {
      const generation = status.generation + 1
      rewriteStatus(files, path, { ...status, abortedCount: ranges.length, generation })
    }
    files.syncFolderSync(path)
  }
  return { file, saved, lost: [] }
}

/** The readable ranges of the file, and those of the segments that it lacks. Throws an Error that says why not. */
function rebuildAborted(files: FileSystem, path: string): AbortedRange[] {
  const ranges = readAborted(files, path)
  const known = new Set(ranges.map(({ producerId, lastOffset }) => `${producerId} ${lastOffset}`))
  const transactions = new Transactions()
  const status = findStatus(files, path)
  const mark = markOfFolder(files, path)
  for (const base of listSegments(files, path)) {
    const file = files.openSync(join(path, logFileName(base)), 'read')
    try {
      const start = { position: 0, firstOffset: base, contiguous: false, mark }
      const end = scanSegment(file, start, (bytes, at) => transactions.add(bytes, at))
      const size = base === status?.activeBase ? status.activeSize : file.sizeSync()
      if (end < size) throw new Error(`${file.path} is damaged at byte ${end}`)
    } finally {
      file.closeSync()
    }
  }
  const found = transactions.aborted.filter(
    ({ producerId, lastOffset }) => !known.has(`${producerId} ${lastOffset}`),
  )
  return [...ranges, ...found].sort((a, b) => a.lastOffset - b.lastOffset)
}

/** Transactions of a partition, read from its batches in order. */
class Transactions {
  readonly aborted: AbortedRange[] = []
  /** Open transactions: first offset by producer. */
  private readonly open = new Map<number, number>()
  private readonly batch = new RecordBatchReader()

  /** Throws an Error when a repair has put an empty batch into an open transaction. */
  add(bytes: Uint8Array, at: number): void {
    const { batch, open } = this
    batch.open(bytes, at, false)
    const { producerId, baseOffset } = batch
    if (batch.isControl) {
      const firstOffset = open.get(producerId)
      if (firstOffset !== undefined && this.isAbort()) {
        this.aborted.push({ producerId, firstOffset, lastOffset: baseOffset })
      }
      open.delete(producerId)
    } else if (batch.isTransactional) {
      if (!open.has(producerId)) open.set(producerId, baseOffset)
    } else if (batch.count === 0 && open.size > 0) {
      throw new Error(`offset ${baseOffset} was lost, and it may have ended a transaction`)
    }
  }

  private isAbort(): boolean {
    const key = this.batch.next() ? this.batch.key() : null
    return key !== null && Buffer.from(key).readInt16BE(2) === ABORT
  }
}
