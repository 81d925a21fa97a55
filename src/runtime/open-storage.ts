import { fileURLToPath } from 'node:url'
import type { CheckpointStorage } from '../checkpoint/checkpoint-storage.ts'
import { FileCheckpointStorage } from '../checkpoint/file-checkpoint-storage.ts'
import { WeirError } from '../core/errors.ts'

/**
 * Opens checkpoint storage at a URL or a path of this machine: `file:///var/weir`, `/var/weir`.
 * Throws UNSUPPORTED for a scheme that is not offered.
 */
export function openStorage(url: string): CheckpointStorage {
  if (url.startsWith('file:')) return new FileCheckpointStorage(fileURLToPath(url))
  if (/^[a-z][a-z0-9+.-]+:/i.test(url)) {
    throw new WeirError('UNSUPPORTED', `checkpoint storage "${url}": use a file:// URL or a path`)
  }
  return new FileCheckpointStorage(url)
}
