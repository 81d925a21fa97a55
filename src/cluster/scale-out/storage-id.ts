import { WeirError } from '../../core/errors.ts'
import type { CheckpointStorage } from '../../runtime/checkpoint/storage/checkpoint-storage.ts'

const PATH = 'scale-out-storage-id'
const ID = /^[0-9a-f]{32}$/

/**
 * The id of a checkpoint storage, 32 hex digits: the first process of any job writes `fresh` there, so that two
 * processes can tell whether they see the same storage. Throws STORAGE_FAILED, MALFORMED_DATA.
 */
export async function storageIdOf(storage: CheckpointStorage, fresh: string): Promise<string> {
  await storage.createExclusive(PATH, Buffer.from(fresh))
  const stored = Buffer.from(await storage.read(PATH)).toString()
  if (ID.test(stored)) return stored
  throw new WeirError(
    'MALFORMED_DATA',
    `${PATH} in the checkpoint folder is not an id of a storage: delete the file while no process of a job runs`,
  )
}
