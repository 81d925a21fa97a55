import * as fs from 'node:fs'
import * as fsp from 'node:fs/promises'
import { promisify } from 'node:util'
import type { FileStatus, FileSystem, FolderEntry, OpenFile, OpenMode } from './file-system.ts'
import { systemCodeOf } from './file-system.ts'

const { O_RDONLY, O_RDWR, O_WRONLY, O_CREAT, O_EXCL, O_TRUNC } = fs.constants

const FLAGS: Readonly<Record<OpenMode, number>> = {
  read: O_RDONLY,
  change: O_RDWR | O_CREAT,
  new: O_RDWR | O_CREAT | O_EXCL,
  replace: O_WRONLY | O_CREAT | O_TRUNC,
}

/** Permissions of new files and folders, less the process's umask: nothing for other users. */
const FILE_PERMISSIONS = 0o600
const FOLDER_PERMISSIONS = 0o700

/** Most buffers of one call: below the limit of every system. */
const MAX_BUFFERS = 512

const openFile = promisify(fs.open)
const closeFile = promisify(fs.close)
const datasync = promisify(fs.fdatasync)

/** The file system of this machine. */
export const nodeFileSystem: FileSystem = {
  open: async (path, mode) =>
    new NodeFile(path, await openFile(path, FLAGS[mode], FILE_PERMISSIONS)),
  openSync: (path, mode) => new NodeFile(path, fs.openSync(path, FLAGS[mode], FILE_PERMISSIONS)),
  rename: fsp.rename,
  renameSync: fs.renameSync,
  link: fsp.link,
  linkSync: fs.linkSync,
  remove: (path) => fsp.unlink(path).catch(ignoreMissing),
  removeSync(path) {
    try {
      fs.unlinkSync(path)
    } catch (error) {
      ignoreMissing(error)
    }
  },
  removeTree: (path) => fsp.rm(path, { recursive: true, force: true }),
  removeEmptyFolder: fsp.rmdir,
  makeFolder: (path) => fsp.mkdir(path, { recursive: true, mode: FOLDER_PERMISSIONS }),
  makeFolderSync: (path) => fs.mkdirSync(path, { recursive: true, mode: FOLDER_PERMISSIONS }),
  list: async (path) => (await fsp.readdir(path, { withFileTypes: true })).map(entryOf),
  listSync: (path) => fs.readdirSync(path, { withFileTypes: true }).map(entryOf),
  async stat(path) {
    try {
      return statusOf(await fsp.stat(path))
    } catch (error) {
      return ignoreMissing(error)
    }
  },
  statSync(path) {
    const stats = fs.statSync(path, { throwIfNoEntry: false })
    return stats === undefined ? undefined : statusOf(stats)
  },
  async syncFolder(path) {
    const handle = await fsp.open(path, 'r')
    await handle.sync().finally(() => handle.close())
  },
  syncFolderSync(path) {
    const fd = fs.openSync(path, 'r')
    try {
      fs.fsyncSync(fd)
    } finally {
      fs.closeSync(fd)
    }
  },
}

class NodeFile implements OpenFile {
  readonly path: string
  private readonly fd: number

  constructor(path: string, fd: number) {
    this.path = path
    this.fd = fd
  }

  read(buffer: Uint8Array, position: number, length = buffer.length): Promise<number> {
    return new Promise((resolve, reject) => {
      fs.read(this.fd, buffer, 0, length, position, (error, read) => {
        if (error === null) resolve(read)
        else reject(error)
      })
    })
  }

  readSync(buffer: Uint8Array, position: number, length = buffer.length): number {
    return fs.readSync(this.fd, buffer, 0, length, position)
  }

  async write(buffers: readonly Uint8Array[], position: number): Promise<void> {
    let rest = buffers
    let at = position
    while (rest.length > 0) {
      const written = await this.writeOnce(rest.slice(0, MAX_BUFFERS), at)
      at += written
      rest = dropWritten(rest, written)
    }
  }

  private writeOnce(buffers: readonly Uint8Array[], position: number): Promise<number> {
    return new Promise((resolve, reject) => {
      fs.writev(this.fd, buffers, position, (error, written) => {
        if (error === null) resolve(written)
        else reject(error)
      })
    })
  }

  writeSync(buffers: readonly Uint8Array[], position: number): void {
    let rest = buffers
    let at = position
    while (rest.length > 0) {
      const few = rest.length > MAX_BUFFERS ? rest.slice(0, MAX_BUFFERS) : rest
      const written = fs.writevSync(this.fd, few, at)
      at += written
      rest = dropWritten(rest, written)
    }
  }

  datasync(): Promise<void> {
    return datasync(this.fd)
  }

  datasyncSync(): void {
    fs.fdatasyncSync(this.fd)
  }

  truncateSync(size: number): void {
    fs.ftruncateSync(this.fd, size)
  }

  sizeSync(): number {
    return fs.fstatSync(this.fd).size
  }

  setTimesSync(accessedMs: number, modifiedMs: number): void {
    fs.futimesSync(this.fd, accessedMs / 1000, modifiedMs / 1000)
  }

  close(): Promise<void> {
    return closeFile(this.fd)
  }

  closeSync(): void {
    fs.closeSync(this.fd)
  }
}

/** The bytes behind the first `written` ones. */
function dropWritten(buffers: readonly Uint8Array[], written: number): readonly Uint8Array[] {
  let left = written
  let i = 0
  while (i < buffers.length && left >= buffers[i]!.length) left -= buffers[i++]!.length
  const rest = buffers.slice(i)
  if (left > 0) rest[0] = rest[0]!.subarray(left)
  return rest
}

function entryOf(entry: fs.Dirent): FolderEntry {
  return { name: entry.name, isFolder: entry.isDirectory() }
}

function statusOf(stats: fs.Stats): FileStatus {
  const { size, atimeMs, mtimeMs } = stats
  return { isFolder: stats.isDirectory(), size, accessedMs: atimeMs, modifiedMs: mtimeMs }
}

function ignoreMissing(error: unknown): undefined {
  if (systemCodeOf(error) !== 'ENOENT') throw error
}
