import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { WeirError } from '../../core/errors.ts'
import { readFileSync } from '../../files/durable-files.ts'
import { type FileSystem, systemCodeOf } from '../../files/file-system.ts'
import {
  type PlacedProcess,
  PROCESS_PLACE,
  processIdentity,
  processState,
} from '../../files/running-process.ts'
import type { PlaceFile } from './port.ts'

/** Folder of a repository with what came from places and is no version yet; a scan leaves it out. */
const DOWNLOADS = '.downloads'
const LOCK = 'lock.json'

/**
 * Where the files of one place are until they are a version: `ROOT/.downloads/PLACE/FILE`, each named by a hash of its
 * path and its content's identity, so that what came before an interruption is found again, and nothing else. One
 * process has the folder at a time.
 */
export class DownloadFolder implements AsyncDisposable {
  private readonly files: FileSystem
  private readonly folder: string

  private constructor(files: FileSystem, folder: string) {
    this.files = files
    this.folder = folder
  }

  /** The folder of a place. Throws ILLEGAL_STATE while another process downloads from it into this repository. */
  static async open(files: FileSystem, root: string, place: string): Promise<DownloadFolder> {
    const folder = join(root, DOWNLOADS, hashOf(place))
    await files.makeFolder(folder)
    const lock = join(folder, LOCK)
    if (!(await take(files, lock))) {
      const owner = ownerOf(files, lock)
      if (owner !== undefined && !hasEnded(owner)) throw inUse(place, owner, lock)
      await files.remove(lock)
      if (!(await take(files, lock))) throw inUse(place, owner, lock)
    }
    return new DownloadFolder(files, folder)
  }

  /** Path of the file with the bytes of a file of the place. */
  pathOf({ identity }: PlaceFile): string {
    return join(this.folder, hashOf(identity))
  }

  /** Removes all that came, also from earlier states of the place. */
  async clear(): Promise<void> {
    await this.files.removeTree(this.folder)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.files.remove(join(this.folder, LOCK))
  }
}

async function take(files: FileSystem, lock: string): Promise<boolean> {
  try {
    const file = await files.open(lock, 'new')
    const owner = { ...processIdentity(process.pid), ...PROCESS_PLACE }
    await file
      .write([new TextEncoder().encode(JSON.stringify(owner))], 0)
      .finally(() => file.close())
    return true
  } catch (error) {
    if (systemCodeOf(error) === 'EEXIST') return false
    throw error
  }
}

/** Undefined for a lock that says nothing: its process ended while it wrote it. */
function ownerOf(files: FileSystem, lock: string): PlacedProcess | undefined {
  try {
    const owner = JSON.parse(new TextDecoder().decode(readFileSync(files, lock))) as PlacedProcess
    return Number.isSafeInteger(owner.pid) ? owner : undefined
  } catch {
    return undefined
  }
}

function hasEnded(owner: PlacedProcess): boolean {
  return processState(owner) === 'ended'
}

function inUse(place: string, owner: PlacedProcess | undefined, lock: string): WeirError {
  const who = owner === undefined ? 'another process' : `process ${owner.pid} of ${owner.host}`
  const message = `${who} pushes ${place} into this repository now; wait for it, or remove ${lock} if there is no such process`
  return new WeirError('ILLEGAL_STATE', message)
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}
