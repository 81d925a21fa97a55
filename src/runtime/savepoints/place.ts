import { WeirError } from '../../core/errors.ts'
import { name } from '../../core/options/kinds.ts'
import type { OptionShape } from '../../core/options/shape.ts'
import type { CheckpointStorage } from '../checkpoint/storage/checkpoint-storage.ts'
import { loadStorage } from '../checkpoint/storage/load.ts'
import { checkStoragePath, MANIFEST_NAME } from '../checkpoint/storage/paths.ts'
import { restoreFromOf } from '../job/restore-from.ts'

/** Options of a place of a savepoint. */
export interface SavepointPlaceOptions {
  /**
   * Root of checkpoint storage, a path or URL (`execution.checkpointing.dir`); the path of a retained checkpoint
   * needs it, because its files lie in several folders. @default the parent folder of the savepoint
   */
  readonly storage?: string
}

/** The options of a place of a savepoint. */
export const PLACE: OptionShape<SavepointPlaceOptions> = { storage: name }

/** A folder of a savepoint in open storage. */
export interface SavepointPlace extends AsyncDisposable {
  readonly storage: CheckpointStorage
  /** Path of the folder in storage. */
  readonly folder: string
}

/**
 * Opens the storage of a savepoint by its path or URL, with `_metadata` or without it. Throws INVALID_ARGUMENT for
 * a path outside the given storage, UNSUPPORTED for another scheme.
 */
export async function openPlace(
  path: string,
  options: SavepointPlaceOptions = {},
): Promise<SavepointPlace> {
  const { root, folder } = placeOf(path, options)
  const storage = await loadStorage(root)
  return {
    storage,
    folder: checkStoragePath(folder),
    [Symbol.asyncDispose]: () => storage.close(),
  }
}

function placeOf(
  path: string,
  { storage }: SavepointPlaceOptions,
): { readonly root: string; readonly folder: string } {
  if (storage !== undefined) return { root: storage, folder: String(restoreFromOf(path, storage)) }
  const [place = '', ...query] = /^(hdfs|s3):/.test(path) ? path.split('?') : [path]
  const names = place.replaceAll('\\', '/').replace(new RegExp(`(/${MANIFEST_NAME})?/*$`), '')
  const at = names.lastIndexOf('/')
  const folder = names.slice(at + 1)
  if (folder === '') throw new WeirError('INVALID_ARGUMENT', `"${path}" names no folder`)
  const parent = at < 0 ? '.' : names.slice(0, at) || '/'
  return { root: [parent, ...query].join('?'), folder }
}
