import { createHash } from 'node:crypto'
import { WeirError } from '../core/errors.ts'
import { readFully } from './durable-files.ts'
import type { FileSystem } from './file-system.ts'

const CHUNK = 1024 * 1024

/** Content of a file, as its length and checksum. */
export interface FileDigest {
  readonly path: string
  readonly bytes: number
  /** SHA-256 of the bytes, in hexadecimal. */
  readonly sha256: string
}

/** The digest of a file as it is now. Rejects with the system's errors. */
export async function digestOf(files: FileSystem, path: string): Promise<FileDigest> {
  const hash = createHash('sha256')
  const file = await files.open(path, 'read')
  try {
    const buffer = new Uint8Array(CHUNK)
    for (let at = 0; ; ) {
      const read = await readFully(file, buffer, at)
      if (read === 0) return { path, bytes: at, sha256: hash.digest('hex') }
      hash.update(buffer.subarray(0, read))
      at += read
    }
  } finally {
    await file.close()
  }
}

/**
 * Compares a file with its digest; a file of another length is not read. `remedy` ends the message of the
 * error. Throws CHECKSUM_MISMATCH, FILE_NOT_FOUND.
 */
export async function requireDigest(
  files: FileSystem,
  { path, bytes, sha256 }: FileDigest,
  remedy: string,
): Promise<void> {
  const details = { file: path }
  const size = (await files.stat(path))?.size
  if (size === undefined) {
    throw new WeirError('FILE_NOT_FOUND', `${path} is missing: ${remedy}`, { details })
  }
  if (size === bytes && (await digestOf(files, path)).sha256 === sha256) return
  const what = size === bytes ? 'another checksum' : `${size} bytes instead of ${bytes}`
  throw new WeirError('CHECKSUM_MISMATCH', `${path} has ${what}: ${remedy}`, { details })
}
