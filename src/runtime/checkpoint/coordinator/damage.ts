import { type ErrorCode, isWeirError, WeirError } from '../../../core/errors.ts'
import { readManifest } from '../manifest/read.ts'
import type { CheckpointManifest, SegmentReference } from '../protocol/checkpoint-types.ts'
import { verifySegment } from '../segment/verify.ts'
import type { CheckpointStorage } from '../storage/checkpoint-storage.ts'

/** A checkpoint that cannot be restored because one of its files is damaged or missing. */
export interface DamagedCheckpoint {
  readonly checkpointId: number
  /** Names the file. */
  readonly error: WeirError
  /** Undefined if the manifest itself is damaged. */
  readonly manifest: CheckpointManifest | undefined
  /** Files and folders; when they are removed, the checkpoint counts as never taken. */
  readonly evidence: readonly string[]
}

/** The error of a manifest that is gone although `reason`. */
export function lostManifest(path: string, reason: string): WeirError {
  return new WeirError('CHECKPOINT_NOT_FOUND', `${path} is missing, although ${reason}`, {
    details: { path },
  })
}

/** Whether an error with this code may mean that stored bytes are damaged or gone. */
export function isDamageCode(code: ErrorCode): boolean {
  return (
    code === 'CHECKSUM_MISMATCH' || code === 'MALFORMED_DATA' || code === 'CHECKPOINT_NOT_FOUND'
  )
}

function isDamage(error: unknown): error is WeirError {
  return isWeirError(error) && isDamageCode(error.code)
}

/**
 * Reads a manifest; the error if it is damaged, undefined if it is gone: an older coordinator may have
 * removed it since it was listed. Throws every other error.
 */
export async function readOrDamage(
  storage: CheckpointStorage,
  folder: string,
): Promise<CheckpointManifest | WeirError | undefined> {
  try {
    return await readManifest(storage, folder)
  } catch (error) {
    if (isWeirError(error, 'CHECKPOINT_NOT_FOUND')) return undefined
    if (isDamage(error)) return error
    throw error
  }
}

/**
 * The damage of the first segment that is missing or shorter than its manifest says; undefined if
 * there is none. `sizes` are those of a listing that is older than the manifest was read.
 */
export async function cutSegment(
  storage: CheckpointStorage,
  manifest: CheckpointManifest,
  sizes: ReadonlyMap<string, number>,
): Promise<WeirError | undefined> {
  for (const segment of segmentsOf(manifest)) {
    const error = await damageIfCut(storage, segment, sizes)
    if (error !== undefined) return error
  }
  return undefined
}

/** The damage of a segment that is missing or too short in a listing; undefined if it has its length. */
export async function damageIfCut(
  storage: CheckpointStorage,
  segment: SegmentReference,
  sizes: ReadonlyMap<string, number>,
): Promise<WeirError | undefined> {
  if ((sizes.get(segment.path) ?? 0) >= segment.bytes) return undefined
  return await damageOf(storage, segment)
}

/** The damage of the first damaged segment, over all bytes; undefined if all are whole. */
export async function damagedSegment(
  storage: CheckpointStorage,
  manifest: CheckpointManifest,
): Promise<WeirError | undefined> {
  for (const segment of segmentsOf(manifest)) {
    const error = await damageOf(storage, segment)
    if (error !== undefined) return error
  }
  return undefined
}

/** The segments of a manifest, each file once. */
export function segmentsOf(manifest: CheckpointManifest): readonly SegmentReference[] {
  const byPath = new Map<string, SegmentReference>()
  for (const { segments } of manifest.operators) {
    for (const segment of segments) byPath.set(segment.path, segment)
  }
  return [...byPath.values()]
}

/** The damage of one segment; undefined if it is whole. Throws STORAGE_FAILED, UNSUPPORTED_VERSION. */
export async function damageOf(
  storage: CheckpointStorage,
  segment: SegmentReference,
): Promise<WeirError | undefined> {
  try {
    await verifySegment(storage, segment)
    return undefined
  } catch (error) {
    if (isDamage(error)) return error
    throw error
  }
}

/** The error of a job all of whose checkpoints are damaged. */
export function nothingWhole(jobFolder: string, damaged: readonly DamagedCheckpoint[]): WeirError {
  const { error } = damaged.at(-1)!
  const files = damaged.map((checkpoint) => checkpoint.error.message).join('; ')
  return new WeirError(
    error.code,
    `no checkpoint of the job is whole: ${files}. Nothing was deleted. Put the damaged file back from a copy, or start from a savepoint (weir run --restore-from PATH), or move the folder ${jobFolder} of checkpoint storage away to start from nothing`,
    { cause: error, details: error.details },
  )
}

/** Warning that a damaged checkpoint was passed over. */
export function passedOver(
  { checkpointId, error, evidence }: DamagedCheckpoint,
  fallback: CheckpointManifest | undefined,
): WeirError {
  const sentences = [`checkpoint ${checkpointId} is damaged and is not used: ${error.message}`]
  if (fallback !== undefined && fallback.checkpointId < checkpointId) {
    sentences.push(
      `the job continues from checkpoint ${fallback.checkpointId}: it reads its sources again from there, and results that were committed since may come twice`,
    )
  }
  sentences.push(
    `the files of this time are kept: put the file back from a copy, or look at them with "weir checkpoint verify" and, when they are no longer needed, remove ${evidence.join(' and ')}`,
  )
  return new WeirError(error.code, sentences.join('. '), {
    cause: error,
    details: { ...error.details, checkpointId },
  })
}
