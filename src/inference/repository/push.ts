import { createHash, randomUUID } from 'node:crypto'
import { dirname, join } from 'node:path'
import { asWeirError, WeirError } from '../../core/errors.ts'
import { readFully } from '../../files/durable-files.ts'
import { type FileSystem, systemCodeOf } from '../../files/file-system.ts'
import { requireModelName, versionOf } from './name.ts'
import { MANIFEST_FILE } from './scan.ts'
import { type VersionFile, versionFiles } from './version-files.ts'

/** A model to be added to a repository. */
export interface Push {
  /** Folder of the repository; created when missing. */
  readonly root: string
  readonly name: string
  /** @default one more than the highest */
  readonly version?: number
  /**
   * The model's file: `.onnx`, `.ts`, `.js`, `.mjs`, or `.json` for a remote endpoint; or a folder with one of them and
   * the files that belong to it, such as weights, labels and a vocabulary.
   */
  readonly file: string
  /** The files, the model's first, where they are not those of `file`, which messages name. */
  readonly parts?: readonly VersionFile[]
  /** Where the files come from, for the version's list of files. */
  readonly source?: VersionSource
}

/** The place that a version comes from. */
export interface VersionSource {
  readonly place: string
  /** What the place was pinned to, such as a commit. */
  readonly revision?: string
}

/** A version that was added. */
export interface PushedVersion {
  readonly name: string
  readonly version: number
  /** Name of the model's file in the version. */
  readonly file: string
  /** Number of files. */
  readonly files: number
  /** Bytes of all files. */
  readonly bytes: number
  /** Checksum of the model's file. */
  readonly sha256: string
}

/** Bytes that are copied at a time. */
const CHUNK = 1024 * 1024

/**
 * Adds a version: copies the files, writes their checksums beside them, forces all, and gives the folder its name
 * last, so that no one sees half of it. Throws INVALID_ARGUMENT, FILE_NOT_FOUND, VERSION_EXISTS, DISK_FULL.
 */
export async function pushModel(files: FileSystem, push: Push): Promise<PushedVersion> {
  const { root, name, file } = push
  requireModelName(name)
  const parts = push.parts ?? (await versionFiles(files, file))
  const folder = join(root, name)
  const incoming = join(folder, `.incoming-${randomUUID()}`)
  try {
    await files.makeFolder(incoming)
    const digests = await copyAll(files, parts, incoming)
    await write(files, join(incoming, MANIFEST_FILE), { source: push.source, files: digests })
    await files.syncFolder(incoming)
    const version = await place(files, folder, incoming, push.version)
    const { to } = parts[0]!
    const bytes = Object.values(digests).reduce((sum, one) => sum + one.bytes, 0)
    return { name, version, file: to, files: parts.length, bytes, sha256: digests[to]!.sha256 }
  } catch (error) {
    await files.removeTree(incoming).catch(() => undefined)
    throw asWeirError(error, 'STORAGE_FAILED', `cannot push ${file} as "${name}"`)
  }
}

/** Copies the files into a folder; returns their digests by path. */
async function copyAll(files: FileSystem, parts: readonly VersionFile[], folder: string) {
  const digests: Record<string, { readonly bytes: number; readonly sha256: string }> = {}
  const folders = new Set(parts.map(({ to }) => dirname(to)).filter((path) => path !== '.'))
  for (const path of folders) await files.makeFolder(join(folder, path))
  for (const { from, to } of parts) digests[to] = await copy(files, from, join(folder, to))
  for (const path of folders) await files.syncFolder(join(folder, path))
  return digests
}

/** Gives the folder its number; another push may take the next one at the same time. */
async function place(
  files: FileSystem,
  folder: string,
  incoming: string,
  wanted: number | undefined,
): Promise<number> {
  for (;;) {
    const version = wanted ?? (await highestVersion(files, folder)) + 1
    const target = join(folder, String(version))
    try {
      if ((await files.stat(target)) !== undefined) throw taken(target)
      await files.rename(incoming, target)
      await files.syncFolder(folder)
      return version
    } catch (error) {
      const isTaken = ['ENOTEMPTY', 'EEXIST', 'TAKEN'].includes(systemCodeOf(error) ?? '')
      if (!isTaken) throw error
      if (wanted === undefined) continue
      throw versionExists(target)
    }
  }
}

/** Throws VERSION_EXISTS where the folder of a version is there. */
export async function requireFreeVersion(files: FileSystem, folder: string): Promise<void> {
  if ((await files.stat(folder)) !== undefined) throw versionExists(folder)
}

function versionExists(folder: string): WeirError {
  const message = `${folder} exists; a version never changes, push another number`
  return new WeirError('VERSION_EXISTS', message)
}

function taken(path: string): Error {
  return Object.assign(new Error(`${path} exists`), { code: 'TAKEN' })
}

async function highestVersion(files: FileSystem, folder: string): Promise<number> {
  const entries = await files.list(folder)
  return Math.max(0, ...entries.map(({ name }) => versionOf(name) ?? 0))
}

async function copy(files: FileSystem, from: string, to: string) {
  const hash = createHash('sha256')
  const source = await files.open(from, 'read')
  try {
    const target = await files.open(to, 'new')
    try {
      const buffer = new Uint8Array(CHUNK)
      let at = 0
      for (;;) {
        const read = await readFully(source, buffer, at)
        if (read === 0) break
        const bytes = buffer.subarray(0, read)
        hash.update(bytes)
        await target.write([bytes], at)
        at += read
      }
      await target.datasync()
      return { bytes: at, sha256: hash.digest('hex') }
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

async function write(files: FileSystem, path: string, value: unknown): Promise<void> {
  const file = await files.open(path, 'new')
  try {
    await file.write([new TextEncoder().encode(`${JSON.stringify(value, undefined, 2)}\n`)], 0)
    await file.datasync()
  } finally {
    await file.close()
  }
}
