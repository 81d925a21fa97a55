import { basename, dirname } from 'node:path'
import type {
  FileStatus,
  FileSystem,
  FolderEntry,
  OpenFile,
  OpenMode,
} from '../../src/files/file-system.ts'
import type { SimulatedDisk } from './simulated-disk.ts'
import {
  SimulatedFile,
  SimulatedFolder,
  type SimulatedNode,
  systemError,
} from './simulated-nodes.ts'

/** Thrown to a process that has died: by synchronous operations; asynchronous ones never end. */
export class ProcessDied extends Error {}

/** What a process decides about each of its file operations. */
export interface DiskProcess {
  /**
   * Called before an operation. It may throw to refuse it, or throw ProcessDied. `apply` runs the
   * operation, for a process that dies in it.
   */
  before(operation: string, path: string, apply: () => void): void
  /** Holds an asynchronous operation until its turn comes; default: at once. */
  turn?(): Promise<void>
}

/** A simulated disk as one process sees it. */
export class SimulatedMount implements FileSystem {
  private readonly disk: SimulatedDisk
  private readonly process: DiskProcess

  /** `process` is asked before every operation; default: one that never fails. */
  constructor(disk: SimulatedDisk, process: DiskProcess = { before: () => {} }) {
    this.disk = disk
    this.process = process
  }

  /** Runs a synchronous operation. */
  run<T>(operation: string, path: string, action: () => T): T {
    this.process.before(operation, path, action)
    return action()
  }

  /** Runs an asynchronous operation in its turn. */
  async runLater<T>(operation: string, path: string, action: () => T): Promise<T> {
    await this.process.turn?.()
    try {
      return this.run(operation, path, action)
    } catch (error) {
      if (error instanceof ProcessDied) return await new Promise<never>(() => {})
      throw error
    }
  }

  open(path: string, mode: OpenMode): Promise<OpenFile> {
    return this.runLater('open', path, () => this.openNow(path, mode))
  }

  openSync(path: string, mode: OpenMode): OpenFile {
    return this.run('open', path, () => this.openNow(path, mode))
  }

  private openNow(path: string, mode: OpenMode): OpenFile {
    const found = this.disk.find(path)
    if (found !== undefined && mode === 'new') throw systemError('EEXIST', 'open', path)
    if (found instanceof SimulatedFolder) throw systemError('EISDIR', 'open', path)
    if (found === undefined && mode === 'read') throw systemError('ENOENT', 'open', path)
    const file = found ?? this.create(path)
    if (mode === 'replace' && file.bytes.length > 0) file.resize(0)
    return new SimulatedOpenFile(this, this.disk, file, path)
  }

  private create(path: string): SimulatedFile {
    const folder = this.folder(dirname(path), 'open')
    if (this.disk.full) throw systemError('ENOSPC', 'open', path)
    const file = new SimulatedFile()
    file.modifiedMs = this.disk.nowMs
    file.accessedMs = this.disk.nowMs
    folder.set(basename(path), file)
    return file
  }

  rename(from: string, to: string): Promise<void> {
    return this.runLater('rename', to, () => this.renameNow(from, to))
  }

  renameSync(from: string, to: string): void {
    this.run('rename', to, () => this.renameNow(from, to))
  }

  private renameNow(from: string, to: string): void {
    if (this.disk.find(from) === undefined) throw systemError('ENOENT', 'rename', from)
    this.folder(dirname(from), 'rename').move(
      basename(from),
      this.folder(dirname(to), 'rename'),
      basename(to),
    )
  }

  link(from: string, to: string): Promise<void> {
    return this.runLater('link', to, () => this.linkNow(from, to))
  }

  linkSync(from: string, to: string): void {
    this.run('link', to, () => this.linkNow(from, to))
  }

  private linkNow(from: string, to: string): void {
    const node = this.disk.find(from)
    if (node === undefined) throw systemError('ENOENT', 'link', from)
    if (this.disk.find(to) !== undefined) throw systemError('EEXIST', 'link', to)
    if (this.disk.full) throw systemError('ENOSPC', 'link', to)
    this.folder(dirname(to), 'link').set(basename(to), node)
  }

  remove(path: string): Promise<void> {
    return this.runLater('remove', path, () => this.removeNow(path))
  }

  removeSync(path: string): void {
    this.run('remove', path, () => this.removeNow(path))
  }

  private removeNow(path: string): void {
    if (this.disk.find(path) === undefined) return
    this.folder(dirname(path), 'remove').set(basename(path), undefined)
  }

  /** Each file is an operation: a process may die in the middle. */
  async removeTree(path: string): Promise<void> {
    const node = this.disk.find(path)
    if (node instanceof SimulatedFolder) {
      for (const name of [...node.entries.keys()]) await this.removeTree(`${path}/${name}`)
    }
    await this.remove(path)
  }

  removeEmptyFolder(path: string): Promise<void> {
    return this.runLater('removeFolder', path, () => {
      if (this.folder(path, 'removeFolder').entries.size > 0) {
        throw systemError('ENOTEMPTY', 'removeFolder', path)
      }
      this.removeNow(path)
    })
  }

  makeFolder(path: string): Promise<string | undefined> {
    return this.runLater('makeFolder', path, () => this.makeFolderNow(path))
  }

  makeFolderSync(path: string): string | undefined {
    return this.run('makeFolder', path, () => this.makeFolderNow(path))
  }

  private makeFolderNow(path: string): string | undefined {
    if (this.disk.find(path) instanceof SimulatedFolder) return undefined
    const first = this.makeFolderNow(dirname(path))
    if (this.disk.full) throw systemError('ENOSPC', 'makeFolder', path)
    const parent = this.folder(dirname(path), 'makeFolder')
    if (parent.entries.has(basename(path))) throw systemError('EEXIST', 'makeFolder', path)
    parent.set(basename(path), new SimulatedFolder())
    return first ?? path
  }

  list(path: string): Promise<readonly FolderEntry[]> {
    return this.runLater('list', path, () => this.listNow(path))
  }

  listSync(path: string): readonly FolderEntry[] {
    return this.run('list', path, () => this.listNow(path))
  }

  private listNow(path: string): readonly FolderEntry[] {
    const { entries } = this.folder(path, 'list')
    return [...entries].map(([name, node]) => ({ name, isFolder: node instanceof SimulatedFolder }))
  }

  stat(path: string): Promise<FileStatus | undefined> {
    return this.runLater('stat', path, () => statusOf(this.disk.find(path)))
  }

  statSync(path: string): FileStatus | undefined {
    return this.run('stat', path, () => statusOf(this.disk.find(path)))
  }

  syncFolder(path: string): Promise<void> {
    return this.runLater('syncFolder', path, () => this.syncFolderNow(path))
  }

  syncFolderSync(path: string): void {
    this.run('syncFolder', path, () => this.syncFolderNow(path))
  }

  private syncFolderNow(path: string): void {
    this.disk.force(this.folder(path, 'syncFolder'), 'syncFolder', path)
  }

  private folder(path: string, call: string): SimulatedFolder {
    const node = this.disk.find(path)
    if (node === undefined) throw systemError('ENOENT', call, path)
    if (node instanceof SimulatedFile) throw systemError('ENOTDIR', call, path)
    return node
  }
}

class SimulatedOpenFile implements OpenFile {
  readonly path: string
  private readonly mount: SimulatedMount
  private readonly disk: SimulatedDisk
  private readonly file: SimulatedFile

  constructor(mount: SimulatedMount, disk: SimulatedDisk, file: SimulatedFile, path: string) {
    this.mount = mount
    this.disk = disk
    this.file = file
    this.path = path
  }

  read(buffer: Uint8Array, position: number, length = buffer.length): Promise<number> {
    return this.mount.runLater('read', this.path, () => this.readNow(buffer, position, length))
  }

  readSync(buffer: Uint8Array, position: number, length = buffer.length): number {
    return this.mount.run('read', this.path, () => this.readNow(buffer, position, length))
  }

  private readNow(buffer: Uint8Array, position: number, length: number): number {
    const bytes = this.file.bytes.subarray(position, position + length)
    buffer.set(bytes)
    return bytes.length
  }

  write(buffers: readonly Uint8Array[], position: number): Promise<void> {
    return this.mount.runLater('write', this.path, () => this.writeNow(buffers, position))
  }

  writeSync(buffers: readonly Uint8Array[], position: number): void {
    this.mount.run('write', this.path, () => this.writeNow(buffers, position))
  }

  private writeNow(buffers: readonly Uint8Array[], position: number): void {
    const bytes = Buffer.concat(buffers)
    const growth = position + bytes.length - this.file.bytes.length
    const refused = this.disk.full && growth > 0
    const written = refused ? this.disk.random.below(bytes.length - growth + 1) : bytes.length
    if (written > 0) this.file.write(position, bytes.subarray(0, written))
    this.file.modifiedMs = this.disk.nowMs
    if (refused) throw systemError('ENOSPC', 'write', this.path)
  }

  datasync(): Promise<void> {
    return this.mount.runLater('datasync', this.path, () => this.datasyncNow())
  }

  datasyncSync(): void {
    this.mount.run('datasync', this.path, () => this.datasyncNow())
  }

  private datasyncNow(): void {
    this.disk.force(this.file, 'datasync', this.path)
  }

  truncateSync(size: number): void {
    this.mount.run('truncate', this.path, () => this.file.resize(size))
  }

  sizeSync(): number {
    return this.mount.run('stat', this.path, () => this.file.bytes.length)
  }

  setTimesSync(accessedMs: number, modifiedMs: number): void {
    this.mount.run('setTimes', this.path, () => {
      this.file.accessedMs = accessedMs
      this.file.modifiedMs = modifiedMs
    })
  }

  async close(): Promise<void> {}

  closeSync(): void {}
}

function statusOf(node: SimulatedNode | undefined): FileStatus | undefined {
  if (node === undefined) return undefined
  if (node instanceof SimulatedFolder) {
    return { isFolder: true, size: 0, accessedMs: 0, modifiedMs: 0 }
  }
  const { accessedMs, modifiedMs } = node
  return { isFolder: false, size: node.bytes.length, accessedMs, modifiedMs }
}
