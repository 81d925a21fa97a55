import { createHash } from 'node:crypto'

/** The job id of a name, the same at every start, so that the job finds its checkpoints. */
export function jobIdOf(name: string): string {
  return createHash('md5').update(name).digest('hex')
}
