import { fileURLToPath } from 'node:url'
import type { CheckpointStorage } from '../checkpoint/checkpoint-storage.ts'
import { FileCheckpointStorage } from '../checkpoint/file-checkpoint-storage.ts'
import { HdfsCheckpointStorage } from '../checkpoint/hdfs-checkpoint-storage.ts'
import { WeirError } from '../core/errors.ts'
import { isHdfsUrl } from '../webhdfs/webhdfs-address.ts'

/**
 * Opens checkpoint storage at a URL or a path of this machine: `file:///var/weir`, `/var/weir`,
 * `hdfs://namenode:9870/weir?user.name=weir`. Throws UNSUPPORTED for a scheme that is not offered,
 * INVALID_ARGUMENT for a malformed URL.
 */
export function openStorage(url: string): CheckpointStorage {
  if (url.startsWith('file:')) return new FileCheckpointStorage(fileURLToPath(url))
  if (isHdfsUrl(url)) return new HdfsCheckpointStorage(url)
  if (/^[a-z][a-z0-9+.-]+:/i.test(url)) {
    const message = `checkpoint storage "${url}": use a file:// URL, a path or an hdfs:// URL`
    throw new WeirError('UNSUPPORTED', message)
  }
  return new FileCheckpointStorage(url)
}
