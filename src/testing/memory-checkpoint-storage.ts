import { WeirError } from '../core/errors.ts'
import { optional, bytes as someBytes, wholeNumber } from '../core/options/kinds.ts'
import { checkArgument } from '../core/options/shape.ts'
import type {
  CheckpointStorage,
  CreateOutcome,
  StorageWriter,
  StoredFile,
} from '../runtime/checkpoint/storage/checkpoint-storage.ts'
import { checkStoragePath } from '../runtime/checkpoint/storage/paths.ts'

const OFFSET = wholeNumber({ min: 0 })

/**
 * Checkpoint storage in memory, for tests. Several coordinators can share the object, as several processes
 * share a folder.
 */
export class MemoryCheckpointStorage implements CheckpointStorage {
  /** Visible files by path. A test can read and damage them. */
  readonly files = new Map<string, Uint8Array>()

  async createWriter(path: string): Promise<StorageWriter> {
    checkStoragePath(path)
    const parts: Uint8Array[] = []
    let open = true
    const requireOpen = (): void => {
      if (!open) throw new WeirError('ILLEGAL_STATE', `${path} is already committed or aborted`)
    }
    return {
      write: async (bytes) => {
        requireOpen()
        parts.push(bytes.slice())
      },
      commit: async () => {
        requireOpen()
        open = false
        this.files.set(path, new Uint8Array(Buffer.concat(parts)))
      },
      abort: async () => {
        open = false
      },
    }
  }

  async ensureDurable(path: string): Promise<void> {
    await this.read(path, 0, 0)
  }

  async createExclusive(path: string, bytes: Uint8Array): Promise<CreateOutcome> {
    checkArgument('createExclusive', 'bytes', someBytes, bytes)
    if (this.files.has(checkStoragePath(path))) return 'already-exists'
    this.files.set(path, bytes.slice())
    return 'created'
  }

  async read(path: string, start = 0, length?: number): Promise<Uint8Array> {
    checkArgument('read', 'start', OFFSET, start)
    checkArgument('read', 'length', optional(OFFSET), length)
    const bytes = this.files.get(checkStoragePath(path))
    if (bytes === undefined) {
      throw new WeirError('CHECKPOINT_NOT_FOUND', `${path} is not in checkpoint storage`)
    }
    return bytes.slice(start, length === undefined ? undefined : start + length)
  }

  async list(folder: string): Promise<readonly StoredFile[]> {
    const prefix = folder === '' ? '' : `${checkStoragePath(folder)}/`
    const found = [...this.files].filter(([path]) => path.startsWith(prefix))
    return found
      .map(([path, bytes]) => ({ path, bytes: bytes.length }))
      .sort((a, b) => (a.path < b.path ? -1 : 1))
  }

  async delete(path: string): Promise<void> {
    const prefix = `${checkStoragePath(path)}/`
    for (const name of [...this.files.keys()]) {
      if (name === path || name.startsWith(prefix)) this.files.delete(name)
    }
  }

  async close(): Promise<void> {}
}
