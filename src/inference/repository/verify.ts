import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { WeirError } from '../../core/errors.ts'
import { readFileSync, readFully } from '../../files/durable-files.ts'
import type { FileSystem } from '../../files/file-system.ts'
import { MANIFEST_FILE } from './scan.ts'

const CHUNK = 1024 * 1024

/**
 * Compares the files of a version with the checksums that were written when it was pushed. A folder without
 * checksums (one that was copied by hand) passes. Throws CHECKSUM_MISMATCH, FILE_NOT_FOUND, MALFORMED_DATA.
 */
export async function verifyVersion(files: FileSystem, folder: string): Promise<void> {
  const path = join(folder, MANIFEST_FILE)
  if (files.statSync(path) === undefined) return
  for (const [name, { bytes, sha256 }] of Object.entries(manifestOf(files, path))) {
    const file = join(folder, name)
    const size = (await files.stat(file))?.size
    if (size === undefined) {
      throw new WeirError('FILE_NOT_FOUND', `${file} is missing, and ${path} lists it`)
    }
    const found = size === bytes ? await digestOf(files, file) : undefined
    if (found === sha256) continue
    const what = found === undefined ? `${size} bytes instead of ${bytes}` : 'another checksum'
    throw new WeirError(
      'CHECKSUM_MISMATCH',
      `${file} has ${what}: it changed after it was pushed; push the model again as a new version`,
      { details: { file } },
    )
  }
}

type Manifest = Readonly<Record<string, { readonly bytes: number; readonly sha256: string }>>

function manifestOf(files: FileSystem, path: string): Manifest {
  try {
    const text = new TextDecoder().decode(readFileSync(files, path))
    const { files: listed } = JSON.parse(text) as { readonly files: Manifest }
    if (listed !== null && typeof listed === 'object') return listed
  } catch (cause) {
    throw new WeirError('MALFORMED_DATA', `${path} is not the list of a version's files`, { cause })
  }
  throw new WeirError('MALFORMED_DATA', `${path} lists no files`)
}

async function digestOf(files: FileSystem, path: string): Promise<string> {
  const hash = createHash('sha256')
  const file = await files.open(path, 'read')
  try {
    const buffer = new Uint8Array(CHUNK)
    for (let at = 0; ; ) {
      const read = await readFully(file, buffer, at)
      if (read === 0) return hash.digest('hex')
      hash.update(buffer.subarray(0, read))
      at += read
    }
  } finally {
    await file.close()
  }
}
