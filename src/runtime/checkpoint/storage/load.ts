import type { OutageListener } from '../../../core/lifetime/outage.ts'
import { parseStorageUrl } from '../../../core/storage-url.ts'
import type { CheckpointStorage } from './checkpoint-storage.ts'
import { FileCheckpointStorage } from './file.ts'

/**
 * Opens checkpoint storage as `openStorage` does, but loads the HDFS client only for an `hdfs://` URL:
 * the threads of a process that starts do not wait for code that they do not run.
 */
export async function loadStorage(
  url: string,
  onOutage?: OutageListener,
): Promise<CheckpointStorage> {
  const place = parseStorageUrl(url)
  if (place.kind === 'local') return new FileCheckpointStorage(place.path)
  const { HdfsCheckpointStorage } = await import('./hdfs.ts')
  return new HdfsCheckpointStorage(place.url, { onOutage })
}
