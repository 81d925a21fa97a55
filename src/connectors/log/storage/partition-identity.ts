import { basename, dirname, join } from 'node:path'
import { crc32 } from 'node:zlib'
import { asWeirError, isWeirError, messageOf, WeirError } from '../../../core/errors.ts'
import { readFileSync, replaceFileSync } from '../../../files/durable-files.ts'
import { type FileSystem, type OpenFile, systemCodeOf } from '../../../files/file-system.ts'
import { NO_MARK } from '../../../wire/batch/position-checksum.ts'
import { newerFile } from './damage.ts'
import { beginsWithMark, markAt } from './damaged-tail.ts'
import { partitionFolders, partitionPath, readTopicConfig } from './topic-config.ts'

/*
 * File `partition` of a partition's folder: which partition of which topic the folder is, so that a copy or a move to
 * another place is noticed. JSON without blanks; C is the CRC-32 (zlib) of the text without its last field:
 *
 *   {"version":1,"topic":"clicks","id":"8f14e45fceea167a","partition":0,"crc32":C}
 *
 * The first process that opens the folder for writing creates it. A folder of an earlier build has none until then. What is
 * written after that has the mark of the partition in each batch.
 * `topic` is for messages: a topic whose folder was renamed keeps its id.
 */

/** A partition of a topic. */
export interface PartitionIdentity {
  readonly topic: string
  /** Id of the topic. */
  readonly id: string
  readonly partition: number
}

/**
 * The mark of a partition's batches (`position-checksum.ts`): the lower 31 bits of the CRC-32 of `ID/PARTITION`; none where
 * the topic has no id.
 */
function partitionMark({ id, partition }: PartitionIdentity): number {
  return id === '' ? NO_MARK : crc32(`${id}/${partition}`) & 0x7fffffff
}

/** The partition of a log whose batches have a mark; undefined if the log has none. `path`: a folder of another one. */
function partitionWithMark(
  files: FileSystem,
  path: string,
  mark: number,
): PartitionIdentity | undefined {
  const log = dirname(dirname(path))
  for (const { name, isFolder } of files.listSync(log)) {
    if (!isFolder) continue
    for (const partition of partitionFolders(files, join(log, name))) {
      const found = identityIfReadable(files, partitionPath(log, name, partition))
      if (found !== undefined && partitionMark(found) === mark) return found
    }
  }
  return undefined
}

const FILE = 'partition'
const VERSION = 1

/** Path of the file in a partition's folder. */
export function identityPath(path: string): string {
  return join(path, FILE)
}

/** The bytes of the file. */
export function encodeIdentity({ topic, id, partition }: PartitionIdentity): Uint8Array {
  const fields = { version: VERSION, topic, id, partition }
  return new TextEncoder().encode(
    JSON.stringify({ ...fields, crc32: crc32(JSON.stringify(fields)) }),
  )
}

/** The partition that a folder says it is; undefined without the file. Throws MALFORMED_DATA, UNSUPPORTED_VERSION. */
export function readIdentity(files: FileSystem, path: string): PartitionIdentity | undefined {
  let bytes: Uint8Array
  try {
    bytes = readFileSync(files, identityPath(path))
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return undefined
    throw error
  }
  return decodeIdentity(identityPath(path), bytes)
}

function decodeIdentity(file: string, bytes: Uint8Array): PartitionIdentity {
  const { version, crc32: stored, ...fields } = parsed(file, new TextDecoder().decode(bytes))
  if (stored !== crc32(JSON.stringify({ version, ...fields }))) {
    throw damagedIdentity(file, 'its content differs from its checksum')
  }
  if (version !== VERSION) {
    throw newerFile(file, version, VERSION)
  }
  return fields
}

/** The fields in the order of the file, not checked yet. */
function parsed(
  file: string,
  text: string,
): PartitionIdentity & { readonly version: unknown; readonly crc32: unknown } {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw damagedIdentity(file, messageOf(cause), cause)
  }
}

function damagedIdentity(file: string, why: string, cause?: unknown): WeirError {
  const message = `${file} is damaged: ${why}; restore it from a copy, or run "weir log repair", which writes it again`
  return new WeirError('MALFORMED_DATA', message, { cause, details: { file } })
}

/**
 * Requires that the folder of a partition in a log belongs there; one without the file passes. Throws MALFORMED_DATA
 * with both places, and as `readIdentity`.
 */
export function requireOwnPlace(files: FileSystem, path: string): void {
  const found = readIdentity(files, path)
  if (found !== undefined) requirePlace(path, found, placeOf(files, path))
}

/** The partition of a place. Its id is unknown where `topic.json` cannot be read, which is an error of its own. */
function placeOf(files: FileSystem, path: string): PartitionIdentity {
  const topic = basename(dirname(path))
  const partition = Number(basename(path))
  try {
    const { id } = readTopicConfig(dirname(dirname(path)), topic, files)
    return { topic, id, partition }
  } catch (error) {
    if (!isWeirError(error)) throw error
    return { topic, id: '', partition }
  }
}

function requirePlace(path: string, found: PartitionIdentity, here: PartitionIdentity): void {
  if (found.partition === here.partition && (here.id === '' || found.id === here.id)) return
  const right = partitionPath(dirname(dirname(path)), found.topic, found.partition)
  const message = `${path} holds ${nameOf(found)}, and its place is that of ${nameOf(here)}: a copy or a move has mixed up the folders. Stop the processes that use the log, and move it back to ${right}, or restore both from a copy`
  throw new WeirError('MALFORMED_DATA', message, { details: { file: identityPath(path) } })
}

function nameOf({ topic, id, partition }: PartitionIdentity): string {
  return `partition ${partition} of topic "${topic}"${id === '' ? '' : ` (id ${id})`}`
}

/**
 * As `requireOwnPlace`, for the process that writes to the partition, with the place it has: a folder without the file
 * gets it, durably. A full disk leaves that to the next opening.
 */
export function claimPlace(files: FileSystem, path: string, here: PartitionIdentity): void {
  const found = readIdentity(files, path)
  if (found !== undefined) requirePlace(path, found, here)
  else if (here.id !== '') writeIdentity(files, path, here)
}

function writeIdentity(files: FileSystem, path: string, identity: PartitionIdentity): void {
  try {
    replaceFileSync(files, identityPath(path), encodeIdentity(identity))
  } catch (error) {
    if (asWeirError(error, 'CONNECTOR_FAILED').code !== 'DISK_FULL') throw error
  }
}

/** Writes the file of the place that the folder has, in place of a damaged one. */
export function rewriteIdentity(files: FileSystem, path: string): void {
  replaceFileSync(files, identityPath(path), encodeIdentity(placeOf(files, path)))
}

/** The topic's id on which the partitions in its folder agree; undefined if none has one, or they have several. */
export function idOfPartitions(files: FileSystem, folder: string): string | undefined {
  const ids = partitionFolders(files, folder).map((partition) =>
    idAt(files, join(folder, String(partition)), partition),
  )
  const known = new Set(ids.filter((id) => id !== undefined))
  return known.size === 1 ? [...known][0] : undefined
}

function idAt(files: FileSystem, path: string, partition: number): string | undefined {
  const found = identityIfReadable(files, path)
  return found?.partition === partition ? found.id : undefined
}

/** The partition that a folder says it is; undefined without a file, or where it is damaged. */
function identityIfReadable(files: FileSystem, path: string): PartitionIdentity | undefined {
  try {
    return readIdentity(files, path)
  } catch {
    return undefined
  }
}

/**
 * The mark of the batches of a folder. Where its file is missing or damaged, which is an error of its own, the place of the
 * folder says it.
 */
export function markOfFolder(files: FileSystem, path: string): number {
  return partitionMark(identityIfReadable(files, path) ?? placeOf(files, path))
}

/**
 * Why the batch at a position of a segment does not belong to the partition of the folder `path`: it is whole, and has the
 * mark of another partition, as after a copy that has swapped files. Undefined for any other batch.
 */
export function otherPartition(
  files: FileSystem,
  path: string,
  { file, position }: { readonly file: OpenFile; readonly position: number },
): string | undefined {
  const own = markOfFolder(files, path)
  const mark = markAt(file, position)
  if (own === NO_MARK || mark === undefined || mark === NO_MARK || mark === own) return undefined
  const owner = partitionWithMark(files, path, mark)
  // A mark of no one in the middle of the file is a damaged one.
  if (owner === undefined && !beginsWithMark(file, mark)) return undefined
  const whose = owner === undefined ? 'a partition that this log does not have' : nameOf(owner)
  return `its records are those of ${whose}: a copy or a move has mixed up the files; move it back to its place, or restore both from a copy`
}
