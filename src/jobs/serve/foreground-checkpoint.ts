import { isWeirError } from '../../core/errors.ts'
import { loadStorage } from '../../runtime/checkpoint/storage/load.ts'
import { checkpointFolder, classifyPath } from '../../runtime/checkpoint/storage/paths.ts'
import { jobIdOf } from './job-id.ts'

/** A submission of a job. */
export interface SubmittedJob {
  /** Folder or URL of checkpoints. */
  readonly checkpoints: string
  /** Name of the job. */
  readonly name: string
  /** Id of the submission. */
  readonly jobId: string
}

/**
 * The newest checkpoint that a job of this name has made in the foreground, where a submission begins from nothing; a
 * path of checkpoint storage. Undefined if there is none, the submission has checkpoints itself, or storage fails.
 */
export async function foregroundCheckpoint(job: SubmittedJob): Promise<string | undefined> {
  const storage = await loadStorage(job.checkpoints)
  const newestOf = async (jobId: string): Promise<number> => {
    const files = (await storage.list(jobId)).map(({ path }) => classifyPath(jobId, path))
    return Math.max(0, ...files.map((file) => (file.kind === 'manifest' ? file.checkpointId : 0)))
  }
  try {
    if ((await newestOf(job.jobId)) > 0) return undefined
    const jobId = jobIdOf(job.name)
    const newest = await newestOf(jobId)
    return newest === 0 ? undefined : checkpointFolder(jobId, newest)
  } catch (error) {
    if (isWeirError(error)) return undefined
    throw error
  } finally {
    await storage.close()
  }
}
