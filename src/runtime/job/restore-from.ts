import { isAbsolute, relative, resolve, sep } from 'node:path'
import { WeirError } from '../../core/errors.ts'
import { parseStorageUrl } from '../../core/storage-url.ts'
import type { RestoreFrom } from '../checkpoint/coordinator/lineage.ts'
import { MANIFEST_NAME } from '../checkpoint/storage/paths.ts'

/**
 * The path in checkpoint storage of the checkpoint or savepoint that a user names: relative to the
 * storage, or a path or URL within it, with or without `_metadata`. A number is the n-th newest
 * checkpoint. Throws INVALID_ARGUMENT for a place outside the storage.
 */
export function restoreFromOf(from: RestoreFrom, storageUrl: string): RestoreFrom {
  if (typeof from === 'number') return from
  // The settings of a URL stand behind the name of the manifest.
  const [bare = ''] = /^(hdfs|s3):/.test(from) ? from.split('?') : [from]
  const folder = bare.replace(new RegExp(`(/${MANIFEST_NAME})?/*$`), '')
  const root = parseStorageUrl(storageUrl)
  if (root.kind !== 'local') return pathInUrl(folder, storageUrl)
  const place = parseStorageUrl(folder)
  if (place.kind !== 'local') throw outside(from, storageUrl)
  const inner = relative(resolve(root.path), resolve(place.path))
  const isInside = inner !== '' && !inner.startsWith('..') && !isAbsolute(inner)
  if (isInside) return inner.split(sep).join('/')
  if (isAbsolute(place.path)) throw outside(from, storageUrl)
  return folder
}

function pathInUrl(folder: string, storageUrl: string): string {
  const [root = ''] = storageUrl.split('?')
  const base = `${root.replace(/\/+$/, '')}/`
  const [path = ''] = folder.split('?')
  if (path.startsWith(base)) return path.slice(base.length)
  if (path.includes('://') || path.startsWith('/')) throw outside(folder, storageUrl)
  return path
}

function outside(from: string, storageUrl: string): WeirError {
  return new WeirError(
    'INVALID_ARGUMENT',
    `"${from}" is not in the checkpoint storage ${storageUrl}; copy the savepoint folder into it, or set execution.checkpointing.dir`,
  )
}
