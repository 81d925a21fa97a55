/**
 * Ways to open a file. `read`: it must exist. `change`: for reading and writing, created when missing.
 * `new`: for reading and writing, must not exist (else EEXIST). `replace`: for writing, emptied first.
 */
export type OpenMode = 'read' | 'change' | 'new' | 'replace'

/** Facts about a file or folder. */
export interface FileStatus {
  readonly isFolder: boolean
  /** Bytes of a file. */
  readonly size: number
  /** Time of the last access, ms since 1970. */
  readonly accessedMs: number
  /** Time of the last change, ms since 1970. */
  readonly modifiedMs: number
}

/** An entry of a folder. */
export interface FolderEntry {
  readonly name: string
  readonly isFolder: boolean
}

/**
 * An open file. Positions are in bytes. A call with `Sync` in its name runs in the calling thread: it
 * is for small work on data that the system has in memory.
 */
export interface OpenFile {
  readonly path: string
  /**
   * Reads up to `length` bytes (default: the buffer's) in one system call. Returns fewer at the end of
   * the file and, rarely, elsewhere: `readFully` reads on.
   */
  read(buffer: Uint8Array, position: number, length?: number): Promise<number>
  readSync(buffer: Uint8Array, position: number, length?: number): number
  /** Writes all bytes of all buffers one after another. */
  write(buffers: readonly Uint8Array[], position: number): Promise<void>
  writeSync(buffers: readonly Uint8Array[], position: number): void
  /**
   * Forces the file's bytes and size to the disk, not the entry of its folder: see `syncFolder`. After
   * a failure the written bytes may be lost although a later call succeeds: write them again to
   * another file, or report them as lost.
   */
  datasync(): Promise<void>
  datasyncSync(): void
  /** Cuts or extends the file to `size` bytes. */
  truncateSync(size: number): void
  /** The present size in bytes. */
  sizeSync(): number
  /** Sets the times of last access and last change, ms since 1970. */
  setTimesSync(accessedMs: number, modifiedMs: number): void
  close(): Promise<void>
  closeSync(): void
}

/**
 * The port to a file system: all that log, checkpoints, model files and locks use, so that tests can put
 * a disk that fails in its place. Failures throw the system's errors (`code` "ENOENT", "ENOSPC", ...).
 * Nothing is durable before it is forced: a file's bytes by `datasync`, its name by `syncFolder`.
 */
export interface FileSystem {
  open(path: string, mode: OpenMode): Promise<OpenFile>
  openSync(path: string, mode: OpenMode): OpenFile
  /** Gives a file or folder another name, in one step; replaces a file of that name. */
  rename(from: string, to: string): Promise<void>
  renameSync(from: string, to: string): void
  /** Gives a file a second name. Throws EEXIST when the name is taken: of many callers one succeeds. */
  link(from: string, to: string): Promise<void>
  linkSync(from: string, to: string): void
  /** Removes a file's name; a missing file is ignored. */
  remove(path: string): Promise<void>
  removeSync(path: string): void
  /** Removes a folder with all it holds, or a file; a missing one is ignored. */
  removeTree(path: string): Promise<void>
  /** Removes a folder that holds nothing. Throws ENOTEMPTY. */
  removeEmptyFolder(path: string): Promise<void>
  /** Creates a folder and its missing parents. Returns the first that was created. */
  makeFolder(path: string): Promise<string | undefined>
  makeFolderSync(path: string): string | undefined
  /** Entries of a folder, in no order. */
  list(path: string): Promise<readonly FolderEntry[]>
  listSync(path: string): readonly FolderEntry[]
  /** Facts about a path; undefined when there is nothing. */
  stat(path: string): Promise<FileStatus | undefined>
  statSync(path: string): FileStatus | undefined
  /** Forces the entries of a folder to the disk: names that were added, changed and removed. */
  syncFolder(path: string): Promise<void>
  syncFolderSync(path: string): void
}

/** The system's code of a failure ("ENOENT"); undefined for any other error. */
export function systemCodeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}
