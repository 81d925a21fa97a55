import { isWeirError, WeirError } from '../core/errors.ts'
import { manifestPath } from './checkpoint-paths.ts'
import type { CheckpointStorage } from './checkpoint-storage.ts'
import { decodeManifest } from './manifest-format.ts'
import type { CheckpointManifest, SegmentReference } from './protocol/checkpoint-types.ts'

/** A segment path that starts so lies in the folder of its manifest, wherever that was moved to. */
const BESIDE = './'

/**
 * Reads the manifest of a checkpoint's or savepoint's folder. Throws CHECKPOINT_NOT_FOUND,
 * CHECKSUM_MISMATCH, MALFORMED_DATA, UNSUPPORTED_VERSION, STORAGE_FAILED.
 */
export async function readManifest(
  storage: CheckpointStorage,
  folder: string,
): Promise<CheckpointManifest> {
  const manifest = decodeManifest(await readOrExplain(storage, folder))
  return mapSegments(manifest, (segment) =>
    segment.path.startsWith(BESIDE)
      ? { ...segment, path: `${folder}/${segment.path.slice(BESIDE.length)}` }
      : segment,
  )
}

/** The path, in a savepoint's manifest, of a file beside it. */
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

async function readOrExplain(storage: CheckpointStorage, folder: string): Promise<Uint8Array> {
  try {
    return await storage.read(manifestPath(folder))
  } catch (cause) {
    if (!isWeirError(cause, 'CHECKPOINT_NOT_FOUND')) throw cause
    throw new WeirError(
      'CHECKPOINT_NOT_FOUND',
      `${folder} holds no checkpoint or savepoint; give the folder in which _metadata lies`,
      { cause },
    )
  }
}
