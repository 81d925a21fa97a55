import { fileURLToPath } from 'node:url'
import type { CheckpointStorage } from '../checkpoint/checkpoint-storage.ts'
import { FileCheckpointStorage } from '../checkpoint/file-checkpoint-storage.ts'

/**
 * Opens checkpoint storage as `openStorage` does, and loads the client of HDFS only for an `hdfs://`
 * URL: the threads of a process that starts do not wait for code that they do not run.
 */
export async function loadStorage(url: string): Promise<CheckpointStorage> {
  if (url.startsWith('file:')) return new FileCheckpointStorage(fileURLToPath(url))
  if (!/^[a-z][a-z0-9+.-]+:/i.test(url)) return new FileCheckpointStorage(url)
  const { openStorage } = await import('./open-storage.ts')
  return openStorage(url)
}
