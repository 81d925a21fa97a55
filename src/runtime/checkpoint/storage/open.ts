import type { OutageListener } from '../../../core/lifetime/outage.ts'
import { parseStorageUrl } from '../../../core/storage-url.ts'
import type { CheckpointStorage } from './checkpoint-storage.ts'
import { FileCheckpointStorage } from './file.ts'
import { HdfsCheckpointStorage } from './hdfs.ts'
import { S3CheckpointStorage } from './s3.ts'

/**
 * Opens checkpoint storage at a URL or a path of this machine: `file:///var/weir`, `/var/weir`,
 * `hdfs://namenode:9870/weir?user.name=weir`, `s3://bucket/weir?region=eu-central-1`. Throws UNSUPPORTED for a scheme that is not offered,
 * INVALID_ARGUMENT for a malformed URL. `onOutage` gets the notices of a storage that does not answer.
 */
export function openStorage(url: string, onOutage?: OutageListener): CheckpointStorage {
  const place = parseStorageUrl(url)
  switch (place.kind) {
    case 'local':
      return new FileCheckpointStorage(place.path)
    case 'hdfs':
      return new HdfsCheckpointStorage(place.url, { onOutage })
    case 's3':
      return new S3CheckpointStorage(place.url, { onOutage })
  }
}
