import type { OutageListener } from '../../../core/lifetime/outage.ts'
import { parseStorageUrl } from '../../../core/storage-url.ts'
import type { CheckpointStorage } from './checkpoint-storage.ts'
import { FileCheckpointStorage } from './file.ts'
import { HdfsCheckpointStorage } from './hdfs.ts'

/**
 * Opens checkpoint storage at a URL or a path of this machine: `file:///var/weir`, `/var/weir`,
 * `hdfs://namenode:9870/weir?user.name=weir`. Throws UNSUPPORTED for a scheme that is not offered,
 * INVALID_ARGUMENT for a malformed URL. `onOutage` gets the notices of a storage that does not answer.
 */
export function openStorage(url: string, onOutage?: OutageListener): CheckpointStorage {
  const place = parseStorageUrl(url)
  return place.kind === 'local'
    ? new FileCheckpointStorage(place.path)
    : new HdfsCheckpointStorage(place.url, { onOutage })
}
