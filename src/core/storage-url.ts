import { fileURLToPath } from 'node:url'
import { messageOf, WeirError } from './errors.ts'

/** A place of files, in the file system of this machine or in HDFS. */
export type StorageUrl =
  | { readonly kind: 'local'; readonly path: string }
  /** `parseWebHdfsUrl` reads the parts of the URL. */
  | { readonly kind: 'hdfs'; readonly url: string }

const SCHEME = /^[a-z][a-z0-9+.-]+:\//i

/**
 * Reads where files are: a path (`/var/weir`, `data`), `file:///var/weir`, or `hdfs://host:9870/weir`.
 * Throws UNSUPPORTED for another scheme, INVALID_ARGUMENT for a malformed `file://` URL.
 */
export function parseStorageUrl(text: string): StorageUrl {
  if (text.startsWith('hdfs://')) return { kind: 'hdfs', url: text }
  if (text.startsWith('file:')) return { kind: 'local', path: pathOf(text) }
  if (!SCHEME.test(text)) return { kind: 'local', path: text }
  throw new WeirError('UNSUPPORTED', `"${text}": use a path, a file:// URL or an hdfs:// URL`)
}

function pathOf(fileUrl: string): string {
  try {
    return fileURLToPath(fileUrl)
  } catch (cause) {
    const message = `"${fileUrl}" is not a file:// URL of this machine: ${messageOf(cause)}`
    throw new WeirError('INVALID_ARGUMENT', message, { cause })
  }
}
