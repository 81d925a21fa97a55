import { accessSync, constants, existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { asWeirError } from '../../core/errors.ts'
import type { OptionSpec } from '../command/command.ts'
import { path } from '../flag-kinds/places.ts'

/**
 * Throws PERMISSION_DENIED unless the folder can be written or created, so that a command fails before
 * its work.
 */
export function checkDataDirectory(root: string): void {
  let folder = resolve(root)
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
  try {
    accessSync(folder, constants.W_OK)
  } catch (error) {
    throw asWeirError(error, 'PERMISSION_DENIED', `--data-dir ${root} cannot be written`)
  }
}

/** The `--data-dir` flag. */
export const DATA_DIR_OPTION: Readonly<Record<string, OptionSpec>> = {
  'data-dir': {
    type: 'string',
    value: path('DIR'),
    default: '.weir',
    help: 'Folder for log, checkpoints and state',
  },
}
