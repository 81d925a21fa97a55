import { asWeirError, isWeirError, WeirError } from '../../../core/errors.ts'
import type { CheckpointManifest, SegmentReference } from '../protocol/checkpoint-types.ts'
import type { CheckpointStorage } from '../storage/checkpoint-storage.ts'
import { manifestPath } from '../storage/paths.ts'
import { decodeManifest } from './format.ts'

/** Start of the path of a segment in the same folder as its manifest, which can be moved with it. */
const BESIDE = './'

/**
 * Reads the manifest of a checkpoint's or savepoint's folder. Throws CHECKPOINT_NOT_FOUND,
 * CHECKSUM_MISMATCH, MALFORMED_DATA, UNSUPPORTED_VERSION, STORAGE_FAILED.
 */
export async function readManifest(
  storage: CheckpointStorage,
  folder: string,
): Promise<CheckpointManifest> {
  const manifest = decodeNaming(manifestPath(folder), await readOrExplain(storage, folder))
  return mapSegments(manifest, (segment) =>
    segment.path.startsWith(BESIDE)
      ? { ...segment, path: `${folder}/${segment.path.slice(BESIDE.length)}` }
      : segment,
  )
}

/** The path, in a savepoint's manifest, of a file in the same folder. */
export function besideManifest(name: string): string {
  return BESIDE + name
}

/** The manifest with every segment reference replaced. */
export function mapSegments(
  manifest: CheckpointManifest,
  map: (segment: SegmentReference) => SegmentReference,
): CheckpointManifest {
  const operators = manifest.operators.map((operator) => ({
    ...operator,
    segments: operator.segments.map(map),
  }))
  return { ...manifest, operators }
}

/** Decodes a manifest; an error names its file. */
function decodeNaming(path: string, bytes: Uint8Array): CheckpointManifest {
  try {
    return decodeManifest(bytes)
  } catch (cause) {
    const error = asWeirError(cause, 'MALFORMED_DATA')
    throw new WeirError(error.code, `${path}: ${error.message}`, {
      cause,
      details: { ...error.details, path },
    })
  }
}

async function readOrExplain(storage: CheckpointStorage, folder: string): Promise<Uint8Array> {
  try {
    return await storage.read(manifestPath(folder))
  } catch (cause) {
    if (!isWeirError(cause, 'CHECKPOINT_NOT_FOUND')) throw cause
    throw new WeirError(
      'CHECKPOINT_NOT_FOUND',
      `${folder} holds no checkpoint or savepoint; give the folder that contains _metadata`,
      { cause },
    )
  }
}
