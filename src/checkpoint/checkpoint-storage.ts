/** Outcome of a create that must not overwrite. */
export type CreateOutcome = 'created' | 'already-exists'

/** Writes one file in pieces; nothing is visible under the final name until `commit`. */
export interface StorageWriter {
  /** Appends; resolves when the writer can take more (bounded memory). The bytes are not kept. */
  write(bytes: Uint8Array): Promise<void>
  /** Makes the file durable and visible under its name. */
  commit(): Promise<void>
  /** Removes what was written; idempotent, harmless after `commit`. */
  abort(): Promise<void>
}

/** A stored file. */
export interface StoredFile {
  readonly path: string
  readonly bytes: number
}

/**
 * The port to durable checkpoint storage (a folder, HDFS). Paths are relative, with "/". Guarantees
 * asked of an implementation: a committed file is durable and complete; `createExclusive` is atomic
 * among all processes; reads after a commit see it. Safety decisions are not made here. Failures
 * throw STORAGE_FAILED; a missing file throws CHECKPOINT_NOT_FOUND.
 */
export interface CheckpointStorage {
  /** Starts a file; an existing one of that name is replaced at `commit`. */
  createWriter(path: string): Promise<StorageWriter>
  /** Writes a small file whole unless the name is taken: the lock that fences old coordinators. */
  createExclusive(path: string, bytes: Uint8Array): Promise<CreateOutcome>
  /**
   * Reads `length` bytes from `start`; to the end when `length` is missing. Fewer bytes come back
   * when the file ends before: the reader of a format notices that. `into`, of at least `length`
   * bytes, may be used for what comes back: fresh memory for every read of a large restore costs more
   * than the reading.
   */
  read(path: string, start?: number, length?: number, into?: Uint8Array): Promise<Uint8Array>
  /** Files below a folder, recursively; empty when there is none. */
  list(folder: string): Promise<readonly StoredFile[]>
  /** Deletes a file or folder with all it holds; a missing one is ignored. */
  delete(path: string): Promise<void>
  close(): Promise<void>
}
