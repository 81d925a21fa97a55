import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { isWeirError } from '../../../core/errors.ts'
import { readFileSync, replaceFileSync } from '../../../files/durable-files.ts'
import { type FileSystem, systemCodeOf } from '../../../files/file-system.ts'
import { newerFile } from './damage.ts'

/** Name of the file in a partition's folder. */
const FILE = 'compacted'
/** Version of the file's format. */
const COMPACTED_VERSION = 3
/** Version of a file whose segments may hold batches without a checksum of their position. */
const VERSION_WITHOUT_CHECKSUMS = 2

/** Path of the file in a partition's folder. */
export function compactedPath(path: string): string {
  return join(path, FILE)
}

/** Content of the file `compacted`. */
export interface CompactedOffset {
  /** Offset up to which closed segments were compacted. */
  readonly offset: number
  /** Whether each closed segment must end with a batch whose last offset is the one before the next segment. */
  readonly hasEnds: boolean
  /** Whether each batch of these segments has a checksum of its position. */
  readonly hasPositionChecksums: boolean
}

const BROKEN: CompactedOffset = { offset: 0, hasEnds: false, hasPositionChecksums: false }

/**
 * Reads the file `compacted`: JSON `{"version":3,"offset":N,"crc32":C}`, C of the text
 * `{"version":3,"offset":N}`. Of version 2, batches may lack the checksum of their position. Version 1 was
 * the decimal number alone; the segments of then may lack an end, too. A broken or missing file counts
 * as 0, so that everything is compacted again. Throws UNSUPPORTED_VERSION: an earlier build must not compact on.
 */
export function readCompacted(files: FileSystem, path: string): CompactedOffset {
  const file = compactedPath(path)
  try {
    const text = new TextDecoder().decode(readFileSync(files, file))
    if (/^\d{1,16}$/.test(text)) return { ...BROKEN, offset: Number(text) }
    const { version, offset } = JSON.parse(text) as {
      readonly version: number
      readonly offset: number
    }
    const isWhole = encode(version, offset) === text
    if (isWhole && version > COMPACTED_VERSION) throw newerFile(file, version, COMPACTED_VERSION)
    const isKnown = version === COMPACTED_VERSION || version === VERSION_WITHOUT_CHECKSUMS
    if (!isKnown || !isWhole) return BROKEN
    return { offset, hasEnds: true, hasPositionChecksums: version === COMPACTED_VERSION }
  } catch (error) {
    if (isWeirError(error, 'UNSUPPORTED_VERSION')) throw error
    if (systemCodeOf(error) !== 'ENOENT') return BROKEN
    return { offset: 0, hasEnds: true, hasPositionChecksums: true }
  }
}

/** Writes the file, durably. */
export function writeCompacted(files: FileSystem, path: string, offset: number): void {
  replaceFileSync(
    files,
    compactedPath(path),
    new TextEncoder().encode(encode(COMPACTED_VERSION, offset)),
  )
}

function encode(version: number, offset: number): string {
  const text = JSON.stringify({ version, offset })
  return JSON.stringify({ version, offset, crc32: crc32(text) })
}
