import type { OutageListener } from '../../../core/lifetime/outage.ts'
import { parseStorageUrl } from '../../../core/storage-url.ts'
import type { CheckpointStorage } from './checkpoint-storage.ts'
import { FileCheckpointStorage } from './file.ts'

/**
 * Opens checkpoint storage as `openStorage` does, but loads the client of HDFS or S3 only for a URL
 * of it: the threads of a process that starts do not wait for code that they do not run. Throws UNSUPPORTED, too, where
 * the library of S3 is not installed.
 */
export async function loadStorage(
  url: string,
  onOutage?: OutageListener,
): Promise<CheckpointStorage> {
  const place = parseStorageUrl(url)
  if (place.kind === 'local') return new FileCheckpointStorage(place.path)
  if (place.kind === 's3') {
    const { S3CheckpointStorage } = await import('./s3.ts')
    const storage = new S3CheckpointStorage(place.url, { onOutage })
    await storage.load()
    return storage
  }
  const { HdfsCheckpointStorage } = await import('./hdfs.ts')
  return new HdfsCheckpointStorage(place.url, { onOutage })
}
