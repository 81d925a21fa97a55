import { createHash, randomUUID } from 'node:crypto'
import { basename, extname, join } from 'node:path'
import { asWeirError, requireArgument, WeirError } from '../../core/errors.ts'
import { readFully } from '../../files/durable-files.ts'
import { type FileSystem, systemCodeOf } from '../../files/file-system.ts'
import { requireModelName, versionOf } from './name.ts'
import { MANIFEST_FILE, MODEL_FILES } from './scan.ts'

/** A model to be added to a repository. */
export interface Push {
  /** Folder of the repository; created when missing. */
  readonly root: string
  readonly name: string
  /** @default one more than the highest */
  readonly version?: number
  /** The model's file: `.onnx`, `.ts`, `.js`, `.mjs`, or `.json` for a remote endpoint. */
  readonly file: string
}

/** A version that was added. */
export interface PushedVersion {
  readonly name: string
  readonly version: number
  readonly file: string
  readonly bytes: number
  readonly sha256: string
}

/** Bytes that are copied at a time. */
const CHUNK = 1024 * 1024

/**
 * Adds a version: copies the file, writes its checksum beside it, forces both, and gives the folder its name
 * last, so that no one sees half of it. Throws INVALID_ARGUMENT, FILE_NOT_FOUND, VERSION_EXISTS, DISK_FULL.
 */
export async function pushModel(files: FileSystem, push: Push): Promise<PushedVersion> {
  const { root, name, file } = push
  requireModelName(name)
  const target = MODEL_FILES.find((known) => extname(known) === extname(file).toLowerCase())
  requireArgument(
    target !== undefined,
    `${basename(file)} is no model: push a file that ends with .onnx, .ts, .js, .mjs or .json`,
  )
  const folder = join(root, name)
  const incoming = join(folder, `.incoming-${randomUUID()}`)
  try {
    await files.makeFolder(incoming)
    const { bytes, sha256 } = await copy(files, file, join(incoming, target))
    await write(files, join(incoming, MANIFEST_FILE), {
      files: { [target]: { bytes, sha256 } },
    })
    await files.syncFolder(incoming)
    const version = await place(files, folder, incoming, push.version)
    return { name, version, file: target, bytes, sha256 }
  } catch (error) {
    await files.removeTree(incoming).catch(() => undefined)
    throw asWeirError(error, 'STORAGE_FAILED', `cannot push ${file} as "${name}"`)
  }
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
      const message = `${target} exists; a version never changes, push another number`
      throw new WeirError('VERSION_EXISTS', message)
    }
  }
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
