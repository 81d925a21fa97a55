import { manifestPath } from './checkpoint-paths.ts'
import type { CheckpointStorage } from './checkpoint-storage.ts'
import { copySegment } from './copy-segment.ts'
import { encodeManifest } from './manifest-format.ts'
import type { CheckpointManifest, SegmentReference } from './protocol/checkpoint-types.ts'
import { besideManifest, mapSegments } from './read-manifest.ts'

/**
 * Writes a self-contained copy of a completed checkpoint into `folder`: its segments, then the
 * manifest, which names them relative to itself, so that the folder can be moved.
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
    await copySegment(storage, segment, `${folder}/${names.get(segment.path)!}`)
  }
  const writer = await storage.createWriter(manifestPath(folder))
  await writer.write(encodeManifest(manifest))
  await writer.commit()
}
