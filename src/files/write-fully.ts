import type { OpenFile } from './file-system.ts'

/** Most bytes that are written in the calling thread: a copy into the page cache of about 20 us. */
const MAX_SYNC_BYTES = 128 * 1024

/**
 * Writes all buffers at `position`. A small write runs in the calling thread, because handing it to
 * another thread takes longer. Returns the number of bytes.
 */
export async function writeFully(
  file: OpenFile,
  buffers: readonly Uint8Array[],
  position: number,
): Promise<number> {
  const size = buffers.reduce((sum, { length }) => sum + length, 0)
  if (size <= MAX_SYNC_BYTES) file.writeSync(buffers, position)
  else await file.write(buffers, position)
  return size
}
