import { WeirError } from '../../core/errors.ts'
import { makeOwnFolder, ownTemporaryFolder } from '../../files/own-folder.ts'
import type { JobConfiguration } from './configuration.ts'

/**
 * Folder below which each job spills state that does not fit into memory, in a folder with its id: as configured,
 * else one of this user among the temporary files. Throws PERMISSION_DENIED if another user has made that one.
 */
export function stateDirectoryOf({
  stateDirectory,
}: Pick<JobConfiguration, 'stateDirectory'>): string {
  if (stateDirectory !== undefined) return stateDirectory
  const own = ownTemporaryFolder('weir-state')
  if (makeOwnFolder(own)) return own
  throw new WeirError(
    'PERMISSION_DENIED',
    `${own} cannot hold spilled state: it is no folder of this user alone; remove it, or set state.backend.directory`,
  )
}
