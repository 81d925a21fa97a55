import { join } from 'node:path'
import { WeirError } from '../../core/errors.ts'
import { readFileSync } from '../../files/durable-files.ts'
import { digestOf, type FileDigest, requireDigest } from '../../files/file-digest.ts'
import type { FileSystem } from '../../files/file-system.ts'
import { MANIFEST_FILE } from './scan.ts'
import { pathsIn } from './version-files.ts'

const REMEDY =
  'the version is not the one that was pushed; put the file back, or push the model as a new version'

/**
 * The digests of a version's files. Those that were written when it was pushed are compared with the files; a
 * folder without them (one that was copied by hand) has the digests of its files as they are. Throws
 * CHECKSUM_MISMATCH, FILE_NOT_FOUND, MALFORMED_DATA.
 */
export async function verifyVersion(
  files: FileSystem,
  folder: string,
): Promise<readonly FileDigest[]> {
  const path = join(folder, MANIFEST_FILE)
  if (files.statSync(path) === undefined) return await presentDigests(files, folder)
  const digests = Object.entries(manifestOf(files, path)).map(
    ([name, { bytes, sha256 }]): FileDigest => ({ path: join(folder, name), bytes, sha256 }),
  )
  for (const digest of digests) await requireDigest(files, digest, REMEDY)
  return digests
}

async function presentDigests(files: FileSystem, folder: string): Promise<FileDigest[]> {
  const digests: FileDigest[] = []
  for (const path of await pathsIn(files, folder)) {
    digests.push(await digestOf(files, join(folder, path)))
  }
  return digests
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
