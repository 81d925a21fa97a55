import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { WeirError } from '../../../core/errors.ts'
import { parseStorageUrl } from '../../../core/storage-url.ts'

/** The URL of a path in checkpoint storage, which `weir run --restore-from` takes. */
export function placeInStorage(path: string, storageUrl: string): string {
  const root = parseStorageUrl(storageUrl)
  if (root.kind === 'local') return pathToFileURL(join(resolve(root.path), path)).href
  const [base = '', query] = storageUrl.split('?')
  return `${base.replace(/\/+$/, '')}/${path}${query === undefined ? '' : `?${query}`}`
}

/**
 * The folder of checkpoint storage that a client names for its savepoint: a path in it, or a path or URL
 * within it. Throws INVALID_ARGUMENT for a place outside of it.
 */
export function savepointParentOf(target: string, storageUrl: string): string {
  const root = parseStorageUrl(storageUrl)
  const place = parseStorageUrl(target)
  if (place.kind === 'local' && !isAbsolute(place.path)) return place.path
  const inner =
    root.kind !== 'local'
      ? pathBelowUrl(root.url, target)
      : place.kind === 'local'
        ? localPathBelow(root.path, place.path)
        : undefined
  if (inner !== undefined) return inner
  throw new WeirError(
    'INVALID_ARGUMENT',
    `savepoints are stored below the checkpoint storage ${storageUrl}, and "${target}" is not; name a folder in it ("savepoints"), or no folder`,
  )
}

function pathBelowUrl(root: string, target: string): string | undefined {
  const base = `${withoutQuery(root).replace(/\/+$/, '')}/`
  const path = withoutQuery(target)
  return path.startsWith(base) ? path.slice(base.length) : undefined
}

function withoutQuery(url: string): string {
  return url.split('?')[0]!
}

function localPathBelow(root: string, path: string): string | undefined {
  const inner = relative(resolve(root), path)
  const isBelow = inner !== '' && !inner.startsWith('..') && !isAbsolute(inner)
  return isBelow ? inner.split(sep).join('/') : undefined
}
