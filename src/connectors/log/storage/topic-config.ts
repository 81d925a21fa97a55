import { dirname, join } from 'node:path'
import { crc32 } from 'node:zlib'
import {
  asWeirError,
  isWeirError,
  messageOf,
  requireArgument,
  WeirError,
} from '../../../core/errors.ts'
import { numberIn, wholeNumber } from '../../../core/options/kinds.ts'
import { checkOptions, type OptionShape, withDefaults } from '../../../core/options/shape.ts'
import { readFileSync, replaceFileSync } from '../../../files/durable-files.ts'
import { type FileSystem, systemCodeOf } from '../../../files/file-system.ts'
import { nodeFileSystem } from '../../../files/node-file-system.ts'
import { CLEANUP_POLICY, type CleanupPolicy } from '../../records/topic-options.ts'
import { newerFile } from './damage.ts'

/** Configuration of a topic. Sizes in bytes, times in ms. */
export interface TopicConfig {
  readonly partitions: number
  readonly cleanupPolicy: CleanupPolicy
  /** The oldest segments are removed while a partition is larger; -1 keeps all. */
  readonly retentionBytes: number
  /** Segments whose newest record is older are removed; -1 keeps all. */
  readonly retentionMs: number
  /** A segment ends when the next batch would make it larger. */
  readonly segmentBytes: number
  /** How long a tombstone stays after its segment was first compacted. */
  readonly deleteRetentionMs: number
  /** Compaction runs when at least this share of the closed bytes was never compacted, 0..1. */
  readonly minCleanableRatio: number
}

/** A topic as its `topic.json` stores it. */
export interface StoredTopic extends TopicConfig {
  /**
   * Id of the topic, which no other topic has, not even one that is created later under its name. Empty in a file of
   * an earlier build, until the log is opened for writing.
   */
  readonly id: string
}

const TOPIC_CONFIG: OptionShape<Partial<TopicConfig>> = {
  partitions: wholeNumber({ min: 1, max: 65_536 }),
  cleanupPolicy: CLEANUP_POLICY,
  retentionBytes: numberIn({ min: -1 }),
  retentionMs: numberIn({ min: -1 }),
  segmentBytes: numberIn({ min: 1, max: 2 ** 31 - 1 }),
  deleteRetentionMs: numberIn({ min: -1 }),
  minCleanableRatio: numberIn({ min: 0, max: 1 }),
}

/** Default configuration of a new topic. */
const DEFAULT_TOPIC_CONFIG: TopicConfig = {
  partitions: 1,
  cleanupPolicy: 'delete',
  retentionBytes: -1,
  retentionMs: -1,
  segmentBytes: 128 * 1024 * 1024,
  deleteRetentionMs: 24 * 3600 * 1000,
  minCleanableRatio: 0.5,
}

/** Internal topic of the states of transactions. Its id is that of the log. */
export const TRANSACTIONS_TOPIC = '__transactions'
/** Configuration of the internal topic. */
export const TRANSACTIONS_CONFIG: TopicConfig = {
  ...DEFAULT_TOPIC_CONFIG,
  cleanupPolicy: 'compact',
  // Compaction removes old states only from segments that have ended.
  segmentBytes: 1024 * 1024,
}

/** Version of the format of `topic.json`. */
export const TOPIC_FILE_VERSION = 2
const TOPIC_FILE = 'topic.json'

/** Checks a topic's name: what Kafka allows. Throws INVALID_ARGUMENT. */
export function checkTopicName(topic: string): void {
  requireArgument(
    typeof topic === 'string' &&
      /^[A-Za-z0-9._-]{1,249}$/.test(topic) &&
      topic !== '.' &&
      topic !== '..',
    `"${topic}" is not a topic name: use 1 to 249 letters, digits, dots, dashes and underscores`,
  )
}

/** Fills in defaults and checks ranges. Throws INVALID_ARGUMENT. */
export function topicConfig(given: Partial<TopicConfig>): TopicConfig {
  checkOptions('createTopic', TOPIC_CONFIG, given)
  return withDefaults<Partial<TopicConfig>>(DEFAULT_TOPIC_CONFIG, given)
}

/** Folder of a topic. */
export function topicPath(directory: string, topic: string): string {
  return join(directory, topic)
}

/** Path of a topic's configuration. */
export function topicFilePath(directory: string, topic: string): string {
  return join(topicPath(directory, topic), TOPIC_FILE)
}

/** Folder of a partition. */
export function partitionPath(directory: string, topic: string, partition: number): string {
  return join(directory, topic, String(partition))
}

/** Stores a topic's configuration: in a temporary file that is renamed, so that it is whole or absent. */
export function writeTopicConfig(
  files: FileSystem,
  folder: string,
  { id, ...config }: StoredTopic,
): void {
  const content = { version: TOPIC_FILE_VERSION, ...(id === '' ? {} : { id }), ...config }
  const text = JSON.stringify({ ...content, crc32: checksumOf(content) }, null, 2)
  replaceFileSync(files, join(folder, TOPIC_FILE), new TextEncoder().encode(text))
}

/** CRC-32 of the fields as JSON without blanks. */
function checksumOf(content: object): number {
  return crc32(JSON.stringify(content))
}

/**
 * The configuration of a topic. Throws UNKNOWN_TOPIC, UNSUPPORTED_VERSION, and MALFORMED_DATA when the file is
 * damaged, or is missing although the topic has partitions.
 */
export function readTopicConfig(
  directory: string,
  topic: string,
  files: FileSystem = nodeFileSystem,
): StoredTopic {
  checkTopicName(topic)
  const path = topicFilePath(directory, topic)
  return decodeTopicFile(path, readTopicFile(files, path, topic))
}

/** Id of the log in a directory; undefined where it has none yet, or it cannot be read. */
export function logIdOf(directory: string): string | undefined {
  try {
    return readTopicConfig(directory, TRANSACTIONS_TOPIC).id || undefined
  } catch (error) {
    if (isWeirError(error)) return undefined
    throw error
  }
}

/** Decodes the bytes of a `topic.json`; `path` is for messages. Throws MALFORMED_DATA, UNSUPPORTED_VERSION. */
export function decodeTopicFile(path: string, bytes: Uint8Array): StoredTopic {
  const { version, id = '', ...stored } = parseTopicFile(path, new TextDecoder().decode(bytes))
  if (version !== 1 && version !== TOPIC_FILE_VERSION) {
    throw newerFile(path, version, TOPIC_FILE_VERSION)
  }
  return { ...storedConfig(path, stored), id }
}

function storedConfig(path: string, stored: Partial<TopicConfig>): TopicConfig {
  // A later build of the same version may store more.
  const known = Object.entries(stored).filter(([field]) => Object.hasOwn(TOPIC_CONFIG, field))
  try {
    return topicConfig(Object.fromEntries(known))
  } catch (cause) {
    throw damagedTopicFile(path, messageOf(cause), cause)
  }
}

function readTopicFile(files: FileSystem, path: string, topic: string): Uint8Array {
  try {
    return readFileSync(files, path)
  } catch (cause) {
    const code = systemCodeOf(cause)
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw asWeirError(cause, 'CONNECTOR_FAILED')
    // A file with the name of a topic is no topic; a file in place of the log is an error.
    if (code === 'ENOTDIR') namesIn(files, dirname(dirname(path)))
    if (partitionFolders(files, dirname(path)).length > 0) {
      throw damagedTopicFile(path, 'it is missing, and the topic has partitions', cause)
    }
    const message = `topic "${topic}" does not exist in ${dirname(dirname(path))}; create it first`
    throw new WeirError('UNKNOWN_TOPIC', message, { cause, details: { topic } })
  }
}

/** The names in the folder of a log; none when it does not exist. Any other error is thrown: the log is not empty. */
function namesIn(files: FileSystem, directory: string): readonly string[] {
  try {
    return files.listSync(directory).map(({ name }) => name)
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return []
    throw asWeirError(error, 'CONNECTOR_FAILED')
  }
}

/** Numbers of the partitions that have a folder in the folder of a topic; none if that is missing. */
export function partitionFolders(files: FileSystem, folder: string): number[] {
  try {
    const names = files.listSync(folder).map(({ name }) => name)
    return names.filter((name) => /^\d{1,5}$/.test(name)).map(Number)
  } catch {
    return []
  }
}

function damagedTopicFile(path: string, why: string, cause: unknown): WeirError {
  const message = `${path} is damaged: ${why}; restore it from a copy, or run "weir log repair", which repairs it or says what to write into it`
  return new WeirError('MALFORMED_DATA', message, { cause, details: { file: path } })
}

/** The fields of a topic's file. Version 1 has no checksum, and files of earlier builds have no id. */
function parseTopicFile(path: string, text: string): Partial<StoredTopic> & { version?: unknown } {
  try {
    const parsed: unknown = JSON.parse(text)
    requireArgument(typeof parsed === 'object' && parsed !== null, 'it is no object')
    const { crc32: stored, ...content } = parsed as {
      crc32?: unknown
      version?: unknown
      id?: string
    }
    requireArgument(['string', 'undefined'].includes(typeof content.id), 'its id is no text')
    const isWhole = content.version === 1 ? stored === undefined : stored === checksumOf(content)
    requireArgument(isWhole, 'its content differs from its checksum')
    return content
  } catch (cause) {
    throw damagedTopicFile(path, messageOf(cause), cause)
  }
}

/**
 * Names of the topics in a log's directory, sorted, without internal ones (`__...`); none when the
 * directory does not exist. A topic whose file is damaged is among them.
 */
export function listTopics(directory: string, files: FileSystem = nodeFileSystem): string[] {
  const names = namesIn(files, directory)
  return names.filter((name) => !name.startsWith('__') && isListed(directory, name, files)).sort()
}

/** Whether a name is listed: a topic that cannot be read is, so that its description gives the error. */
function isListed(directory: string, name: string, files: FileSystem): boolean {
  try {
    return hasTopic(directory, name, files)
  } catch {
    return true
  }
}

/** Whether the topic exists; its file may be damaged. Throws errors of the file system. */
export function hasTopic(
  directory: string,
  topic: string,
  files: FileSystem = nodeFileSystem,
): boolean {
  try {
    readTopicConfig(directory, topic, files)
    return true
  } catch (error) {
    if (isWeirError(error, 'UNKNOWN_TOPIC') || isWeirError(error, 'INVALID_ARGUMENT')) return false
    if (isWeirError(error, 'MALFORMED_DATA') || isWeirError(error, 'UNSUPPORTED_VERSION'))
      return true
    throw error
  }
}
