/** Outcome of a create that must not overwrite. */
export type CreateOutcome = 'created' | 'already-exists'

/** Writes one file in pieces; nothing is visible under the final name until `commit`. */
export interface StorageWriter {
  /** Appends; resolves when the writer can take more, which bounds memory. Does not keep the bytes. */
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
 * The port to durable checkpoint storage (a folder, HDFS, S3). Paths are relative, with "/". An
 * implementation must guarantee: a committed file is durable and complete; `createExclusive` is atomic
 * among all processes; reads after a commit see it. Failures throw STORAGE_FAILED, PERMISSION_DENIED,
 * UNAUTHENTICATED or, for an address that is wrong, INVALID_ARGUMENT; a missing file
 * throws CHECKPOINT_NOT_FOUND, a server that cannot keep this UNSUPPORTED.
 */
export interface CheckpointStorage {
  /** Starts a file; an existing one of that name is replaced at `commit`. */
  createWriter(path: string): Promise<StorageWriter>
  /** Writes a small file as a whole unless the name exists: the lock that fences old coordinators. */
  createExclusive(path: string, bytes: Uint8Array): Promise<CreateOutcome>
  /**
   * Makes sure that a file which another process wrote survives a power cut: that process may have ended
   * before it forced the file. Call it before anything relies on the file.
   */
  ensureDurable(path: string): Promise<void>
  /**
   * Reads `length` bytes from `start`; to the end when `length` is missing. Returns fewer bytes when the
   * file ends before; the reader of a format detects that. The result may use the memory of `into`,
   * which has at least `length` bytes: new memory for every read of a large restore costs more time
   * than the reads.
   */
  read(path: string, start?: number, length?: number, into?: Uint8Array): Promise<Uint8Array>
  /** Files below a folder, recursively; empty when there is none. The empty path is the root. */
  list(folder: string): Promise<readonly StoredFile[]>
  /** Deletes a file, or a folder with its content; a missing one is ignored. */
  delete(path: string): Promise<void>
  close(): Promise<void>
}
