import { join, resolve } from 'node:path'
import type { OptionSpec } from './command.ts'

/** Where one installation keeps its files. */
export interface DataDirectory {
  readonly root: string
  /** Embedded log. */
  readonly log: string
  readonly checkpoints: string
  /** State stores of the slots; deleted at start. */
  readonly state: string
}

/** The folders below `--data-dir`. */
export function dataDirectory(root: string): DataDirectory {
  const absolute = resolve(root)
  return {
    root: absolute,
    log: join(absolute, 'log'),
    checkpoints: join(absolute, 'checkpoints'),
    state: join(absolute, 'state'),
  }
}

/** The `--data-dir` flag. */
export const DATA_DIR_OPTION: Readonly<Record<string, OptionSpec>> = {
  'data-dir': {
    type: 'string',
    value: 'DIR',
    default: '.weir',
    help: 'Folder of log, checkpoints and state',
  },
}
