import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { WeirError } from '../../core/errors.ts'
import { makeOwnFolder, ownTemporaryFolder } from '../../files/own-folder.ts'
import { isRunning, processIdentity } from '../../files/running-process.ts'
import type { JobConfiguration } from './configuration.ts'

/**
 * Folder below which each job spills state that does not fit into memory (`spillFolder`): as configured, else one of
 * this user among the temporary files. Throws PERMISSION_DENIED if another user has made that one.
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

/**
 * Folder for what one run of a job spills. It is not that of another process: one that takes the job over begins before
 * the other has ended and deleted what it spilled.
 *
 *   <state directory>/<job id>/<pid>-<start of the process>-<generation>/<slot>-<attempt>
 */
export function spillFolder(stateDirectory: string, jobId: string, generation: number): string {
  const { pid, processStart } = processIdentity(process.pid)
  return join(stateDirectory, jobId, `${pid}-${processStart}-${generation}`)
}

/**
 * Deletes what processes that have ended left of a job, also that of earlier releases. A process of another container counts
 * as ended: each container has a state directory of its own.
 */
export async function removeLeftOver(stateDirectory: string, jobId: string): Promise<void> {
  const folder = join(stateDirectory, jobId)
  const names = await readdir(folder).catch(() => [])
  for (const name of names) {
    const [, pid, processStart = ''] = /^(\d+)-(\d*)-\d+$/.exec(name) ?? []
    if (pid !== undefined && isRunning({ pid: Number(pid), processStart })) continue
    await rm(join(folder, name), { recursive: true, force: true })
  }
}
