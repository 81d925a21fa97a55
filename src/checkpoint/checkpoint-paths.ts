import { WeirError } from '../core/errors.ts'
import type { RestoreRecord } from './protocol/valid-checkpoints.ts'

/**
 * The one place that formats paths of checkpoint storage, laid out as Flink lays them out:
 *
 *   <jobId>/epoch-<generation>              claimed exclusively by each coordinator in turn
 *   <jobId>/epoch-<generation>-<attempt>-restored-<n>   that this attempt went on from checkpoint n
 *   <jobId>/chk-<n>/_metadata               manifest, written last
 *   <jobId>/shared/<generation>-<attempt>-<operator uid>-<subtask>-<number>    segment
 *   <jobId>/shared/<generation>-0-compacted-<number>                           segment made by merging
 *   <folder>/savepoint-<6 hex>-<12 hex>/_metadata and its own copies of segments
 */

/** Name of a manifest within its folder. */
export const MANIFEST_NAME = '_metadata'

/** Which file a segment is: unique over restarts, attempts and coordinators of a job. */
export interface SegmentName {
  readonly jobId: string
  readonly generation: number
  readonly attempt: number
  readonly uid: string
  readonly subtask: number
  /** Counts the segments of a subtask in one attempt. */
  readonly number: number
}

/** Path of a segment. */
export function segmentPath(name: SegmentName): string {
  const { generation, attempt, uid, subtask, number } = name
  return `${sharedFolder(name.jobId)}/${generation}-${attempt}-${uid}-${subtask}-${number}`
}

/** Path of the n-th segment that a coordinator made by compaction. */
export function compactedPath(jobId: string, generation: number, number: number): string {
  return `${sharedFolder(jobId)}/${generation}-0-compacted-${number}`
}

/** Folder of a job's segments. */
export function sharedFolder(jobId: string): string {
  return `${jobId}/shared`
}

/** Folder of a checkpoint. */
export function checkpointFolder(jobId: string, checkpointId: number): string {
  return `${jobId}/chk-${checkpointId}`
}

/** Path of the file that a coordinator claims its generation with. */
export function epochPath(jobId: string, generation: number): string {
  return `${jobId}/epoch-${generation}`
}

/** Path of the (empty) file that tells which checkpoint an attempt went on from. */
export function restoredPath(jobId: string, record: RestoreRecord): string {
  const { generation, attempt, checkpointId } = record
  return `${jobId}/epoch-${generation}-${attempt}-restored-${checkpointId}`
}

/** Folder of a savepoint below `folder`. `random12` is 12 hexadecimal digits. */
export function savepointFolder(folder: string, jobId: string, random12: string): string {
  const name = `savepoint-${jobId.slice(0, 6)}-${random12}`
  return folder === '' ? name : `${folder}/${name}`
}

/** Path of the manifest in a checkpoint's or savepoint's folder. */
export function manifestPath(folder: string): string {
  return `${folder}/${MANIFEST_NAME}`
}

/** What a file of a job's folder is, by its path. */
export type StoredKind =
  | { readonly kind: 'epoch'; readonly generation: number }
  | { readonly kind: 'restored'; readonly record: RestoreRecord }
  | { readonly kind: 'manifest'; readonly checkpointId: number }
  | { readonly kind: 'segment'; readonly generation: number; readonly attempt: number }
  | { readonly kind: 'other' }

/** Recognizes a path that this file made. */
export function classifyPath(jobId: string, path: string): StoredKind {
  if (!path.startsWith(`${jobId}/`)) return { kind: 'other' }
  const rest = path.slice(jobId.length + 1)
  const epoch = /^epoch-(\d+)$/.exec(rest)
  if (epoch !== null) return { kind: 'epoch', generation: Number(epoch[1]) }
  const restored = /^epoch-(\d+)-(\d+)-restored-(\d+)$/.exec(rest)
  if (restored !== null) {
    const [generation, attempt, checkpointId] = restored.slice(1).map(Number)
    return {
      kind: 'restored',
      record: { generation: generation!, attempt: attempt!, checkpointId: checkpointId! },
    }
  }
  const manifest = /^chk-(\d+)\/_metadata$/.exec(rest)
  if (manifest !== null) return { kind: 'manifest', checkpointId: Number(manifest[1]) }
  const segment = /^shared\/(\d+)-(\d+)-/.exec(rest)
  if (segment === null) return { kind: 'other' }
  return { kind: 'segment', generation: Number(segment[1]), attempt: Number(segment[2]) }
}

/**
 * Checks a storage path: relative, parts joined by "/", no part empty or starting with a dot, so
 * that none leaves the root. Throws INVALID_ARGUMENT.
 */
export function checkStoragePath(path: string): string {
  const bad = path.split('/').some((part) => part === '' || part.startsWith('.'))
  if (bad || path.includes('\\') || path.includes('\0')) {
    throw new WeirError(
      'INVALID_ARGUMENT',
      `"${path}" is no path of checkpoint storage: use relative names joined by "/" that do not start with a dot`,
    )
  }
  return path
}
