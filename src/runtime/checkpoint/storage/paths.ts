import { WeirError } from '../../../core/errors.ts'
import { text } from '../../../core/options/kinds.ts'
import { checkArgument } from '../../../core/options/shape.ts'
import type { CompletionRecord, RestoreRecord } from '../protocol/valid-checkpoints.ts'

/*
 * Paths of checkpoint storage; no other file formats them. The layout is Flink's:
 *
 *   <jobId>/epoch-<generation>              claimed exclusively by each coordinator in turn (`protocol/job-owner.ts`)
 *   <jobId>/epoch-<generation>-released     the process of this claim has ended its run of the job
 *   <jobId>/epoch-<generation>-<attempt>-restored-<n>   this attempt restored checkpoint n
 *   <jobId>/epoch-<generation>-<attempt>-completed-<n>  checkpoint n of this attempt completed
 *   <jobId>/chk-<n>/_metadata               manifest, written after all segments
 *   <jobId>/shared/<generation>-<attempt>-<operator uid>-<subtask>-<number>    segment
 *   <jobId>/shared/<generation>-0-compacted-<number>                           segment made by merging
 *   <folder>/savepoint-<6 hex>-<12 hex>/_metadata and its own copies of segments
 */

/** Name of a manifest within its folder. */
export const MANIFEST_NAME = '_metadata'

/** Folder of unfinished files, below the root, because a rename must stay within a file system. */
export const TEMPORARY_FOLDER = '.tmp'

/** Age from which an unfinished file counts as left by a process that died, in ms. */
export const LEFTOVER_AGE_MS = 24 * 3600 * 1000

/** Name of a segment, unique over restarts, attempts and coordinators of a job. */
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

/** Path of the file with which a coordinator claims its generation. */
export function epochPath(jobId: string, generation: number): string {
  return `${jobId}/epoch-${generation}`
}

/** Path of the file with which a coordinator gives its claim up. */
export function releasedPath(jobId: string, generation: number): string {
  return `${epochPath(jobId, generation)}-released`
}

/** Path of the file that records which checkpoint an attempt restored. */
export function restoredPath(jobId: string, record: RestoreRecord): string {
  const { generation, attempt, checkpointId } = record
  return `${jobId}/epoch-${generation}-${attempt}-restored-${checkpointId}`
}

/** Path of the file that records that a checkpoint completed. */
export function completedPath(jobId: string, record: CompletionRecord): string {
  const { generation, attempt, checkpointId } = record
  return `${jobId}/epoch-${generation}-${attempt}-completed-${checkpointId}`
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

/** A path below `folder`; the empty one is the root. */
export function joinPath(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`
}

/** Kind of a file in a job's folder, by its path. */
export type StoredKind =
  | { readonly kind: 'epoch' | 'released'; readonly generation: number }
  | { readonly kind: 'restored'; readonly record: RestoreRecord }
  | { readonly kind: 'completed'; readonly record: CompletionRecord }
  | { readonly kind: 'manifest'; readonly checkpointId: number }
  | { readonly kind: 'segment'; readonly generation: number; readonly attempt: number }
  | { readonly kind: 'other' }

/** Recognizes the paths above. */
export function classifyPath(jobId: string, path: string): StoredKind {
  if (!path.startsWith(`${jobId}/`)) return { kind: 'other' }
  const rest = path.slice(jobId.length + 1)
  const epoch = /^epoch-(\d+)(-released)?$/.exec(rest)
  if (epoch !== null) {
    return { kind: epoch[2] === undefined ? 'epoch' : 'released', generation: Number(epoch[1]) }
  }
  const record = /^epoch-(\d+)-(\d+)-(restored|completed)-(\d+)$/.exec(rest)
  if (record !== null) {
    const [generation, attempt, checkpointId] = [record[1], record[2], record[4]].map(Number)
    return {
      kind: record[3] === 'restored' ? 'restored' : 'completed',
      record: { generation: generation!, attempt: attempt!, checkpointId: checkpointId! },
    }
  }
  const manifest = /^chk-(\d+)\/_metadata$/.exec(rest)
  if (manifest !== null) return { kind: 'manifest', checkpointId: Number(manifest[1]) }
  const segment = /^shared\/(\d+)-(\d+)-/.exec(rest)
  if (segment === null) return { kind: 'other' }
  return { kind: 'segment', generation: Number(segment[1]), attempt: Number(segment[2]) }
}

/** Whether a path has the form of a segment or of a file of a checkpoint or savepoint, of any job and in any folder. */
export function isCheckpointFile(path: string): boolean {
  const inner = `/${path}`
  return /\/(shared\/\d+-|chk-\d+\/|savepoint-[0-9a-f]{6}-[0-9a-f]{12}\/)/.test(inner)
}

/**
 * Checks a storage path: relative, parts joined by "/", no part empty or starting with a dot, so
 * that none leaves the root. Throws INVALID_ARGUMENT.
 */
export function checkStoragePath(path: string): string {
  checkArgument('the storage of checkpoints', 'path', text, path)
  const bad = path.split('/').some((part) => part === '' || part.startsWith('.'))
  if (bad || path.includes('\\') || path.includes('\0')) {
    throw new WeirError(
      'INVALID_ARGUMENT',
      `"${path}" is not a path of checkpoint storage: use relative names that do not start with a dot, joined by "/"`,
    )
  }
  return path
}
