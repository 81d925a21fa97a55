import { fileURLToPath } from 'node:url'
import { messageOf, WeirError } from './errors.ts'

/** A place of files, in the file system of this machine or in HDFS. */
export type FilesUrl =
  | { readonly kind: 'local'; readonly path: string }
  /** `parseWebHdfsUrl` reads the parts of the URL. */
  | { readonly kind: 'hdfs'; readonly url: string }

/** A place of checkpoints: one of files, or a bucket of S3. */
export type StorageUrl =
  | FilesUrl
  /** `parseS3Url` reads the parts of the URL. */
  | { readonly kind: 's3'; readonly url: string }

const SCHEME = /^[a-z][a-z0-9+.-]+:\//i

/**
 * Reads where checkpoints are: a path (`/var/weir`, `data`), `file:///var/weir`, `hdfs://host:9870/weir` or
 * `s3://bucket/weir`. Throws UNSUPPORTED for another scheme, INVALID_ARGUMENT for a malformed `file://` URL.
 */
export function parseStorageUrl(text: string): StorageUrl {
  if (text.startsWith('hdfs://')) return { kind: 'hdfs', url: text }
  if (text.startsWith('s3://')) return { kind: 's3', url: text }
  if (text.startsWith('file:')) return { kind: 'local', path: pathOf(text) }
  if (!SCHEME.test(text)) return { kind: 'local', path: text }
  throw new WeirError(
    'UNSUPPORTED',
    `"${text}": use a path, a file:// URL, an hdfs:// URL or, for checkpoints, an s3:// URL`,
  )
}

/** Reads where files are, as `parseStorageUrl`; there are none in S3. Throws as it, and UNSUPPORTED for `s3://`. */
export function parseFilesUrl(text: string): FilesUrl {
  const place = parseStorageUrl(text)
  if (place.kind !== 's3') return place
  throw new WeirError(
    'UNSUPPORTED',
    `"${text}": S3 is for checkpoints and for models that are pushed; use a path, a file:// URL or an hdfs:// URL`,
  )
}

function pathOf(fileUrl: string): string {
  try {
    return fileURLToPath(fileUrl)
  } catch (cause) {
    const message = `"${fileUrl}" is not a file:// URL of this machine: ${messageOf(cause)}`
    throw new WeirError('INVALID_ARGUMENT', message, { cause })
  }
}
