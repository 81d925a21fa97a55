import type { CheckpointManifest, SegmentReference } from '../protocol/checkpoint-types.ts'
import { copySegment } from '../segment/copy.ts'
import type { CheckpointStorage } from '../storage/checkpoint-storage.ts'
import { manifestPath } from '../storage/paths.ts'
import { encodeManifest } from './format.ts'
import { besideManifest, mapSegments } from './read.ts'

/**
 * Writes a self-contained copy of a completed checkpoint into `folder`: its segments, then the
 * manifest. The manifest names segments relative to itself, so that the folder can be moved.
 */
export async function writeSavepoint(
  storage: CheckpointStorage,
  checkpoint: CheckpointManifest,
  folder: string,
): Promise<void> {
  const names = new Map<string, string>()
  const originals: SegmentReference[] = []
  const manifest = mapSegments({ ...checkpoint, kind: 'savepoint' }, (segment) => {
    let name = names.get(segment.path)
    if (name === undefined) {
      name = `segment-${originals.length}`
      names.set(segment.path, name)
      originals.push(segment)
    }
    return { ...segment, path: besideManifest(name) }
  })
  for (const segment of originals) {
    await copySegment(storage, segment, {
      storage,
      path: `${folder}/${names.get(segment.path)!}`,
    })
  }
  await writeManifest(storage, manifest, folder)
}

/** Writes the manifest of a savepoint, behind its segments: with it the savepoint is there. */
export async function writeManifest(
  storage: CheckpointStorage,
  manifest: CheckpointManifest,
  folder: string,
): Promise<void> {
  const writer = await storage.createWriter(manifestPath(folder))
  await writer.write(encodeManifest(manifest))
  await writer.commit()
}
