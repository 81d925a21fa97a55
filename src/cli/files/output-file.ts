import { accessSync, constants, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { messageOf } from '../../core/errors.ts'
import { type Flags, UsageError } from '../command/command.ts'

/**
 * The file that a flag names as output, checked before any work: its folder exists and can be written.
 * Undefined without the flag. An `hdfs://` URL is not checked. Throws UsageError.
 */
export function outputFileOf(flags: Flags, flag: string): string | undefined {
  const place = flags.optional(flag)
  if (place !== undefined && !place.startsWith('hdfs://')) checkOutput(`--${flag}`, place)
  return place
}

/** As `outputFileOf`, but the flag may name a folder (`isFolderPlace`), which need not exist yet. */
export function outputPlaceOf(flags: Flags, flag: string): string | undefined {
  const place = flags.optional(flag)
  return place !== undefined && isFolderPlace(place) ? place : outputFileOf(flags, flag)
}

/** Whether a place names a folder: it ends with "/", before the settings of an `hdfs://` URL. */
export function isFolderPlace(place: string): boolean {
  return /\/(\?[^/]*)?$/.test(place)
}

/** The place of a file in a folder (`isFolderPlace`). */
export function placeIn(folder: string, name: string): string {
  if (!folder.startsWith('hdfs://')) return join(folder, name)
  const [before = '', settings] = folder.split('?', 2)
  return `${before}${name}${settings === undefined ? '' : `?${settings}`}`
}

/** Throws UsageError unless a file can be created at a path. */
function checkOutput(name: string, path: string): void {
  try {
    accessSync(dirname(resolve(path)), constants.W_OK)
  } catch (error) {
    throw new UsageError(`${name}: cannot write ${path}: ${messageOf(error)}`)
  }
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) {
    throw new UsageError(`${name}: ${path} is a folder; name a file`)
  }
}
