import { join, resolve } from 'node:path'

/** Folders of one installation. */
export interface DataDirectory {
  readonly root: string
  /** Embedded log. */
  readonly log: string
  /** Log of the model registry, separate so that a job that locks the other one does not block commands. */
  readonly registry: string
  readonly checkpoints: string
  /** State stores of the slots; deleted at every start. */
  readonly state: string
}

/** The folders below a data folder. */
export function dataDirectory(root: string): DataDirectory {
  const absolute = resolve(root)
  return {
    root: absolute,
    log: join(absolute, 'log'),
    registry: join(absolute, 'registry'),
    checkpoints: join(absolute, 'checkpoints'),
    state: join(absolute, 'state'),
  }
}
