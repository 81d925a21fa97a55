import { statSync } from 'node:fs'
import { join } from 'node:path'
import { WeirError } from '../../core/errors.ts'
import { parseStorageUrl } from '../../core/storage-url.ts'
import { dataDirectory } from '../../jobs/serve/data-directory.ts'
import type { CommandIo, Flags } from '../command/command.ts'
import { textOfFile } from '../command/text-file.ts'
import { configurationOf } from '../flags/serving.ts'

/**
 * Throws UsageError for a file of `--titles` that cannot be read, and CHECKPOINT_NOT_FOUND where `--restore-from` names
 * no folder: both would end the job after it has opened its ports. What is in HDFS or S3 is found when the job restores it.
 */
export async function requireServingFiles(flags: Flags, io: CommandIo): Promise<void> {
  const titles = flags.optional('titles')
  if (titles !== undefined) textOfFile('--titles', titles)
  const from = flags.optional('restore-from')
  // A job that a JobManager starts again goes on from its own checkpoints: the folder may be gone.
  if (from === undefined || /^\d+$/.test(from) || io.jobManager !== undefined) return
  const configuration = configurationOf(flags)
  if (configuration['execution.state-recovery.only-first-start'] === 'true') return
  const url =
    configuration['execution.checkpointing.dir'] ??
    dataDirectory(flags.string('data-dir')).checkpoints
  const { restoreFromOf } = await import('../../runtime/job/restore-from.ts')
  const storage = parseStorageUrl(url)
  const folder = String(restoreFromOf(from, url))
  if (storage.kind !== 'local') return
  if (statSync(join(storage.path, folder), { throwIfNoEntry: false })?.isDirectory() === true)
    return
  throw new WeirError(
    'CHECKPOINT_NOT_FOUND',
    `--restore-from: there is no folder ${from} in ${storage.path}; "weir checkpoint list" shows what is there`,
  )
}
