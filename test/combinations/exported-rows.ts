import { readFileSync } from 'node:fs'

/**
 * Rows of a file of `weir model export` by key, read by its documented layout: magic, header, and for each row the
 * length of its key, the key, its floats, a count, the number of floats of its memory, the memory.
 */
export function exportedRows(path: string): ReadonlyMap<string, Float32Array> {
  const bytes = readFileSync(path)
  const headerEnd = 12 + bytes.readUInt32LE(8)
  const { dimension, rows } = JSON.parse(bytes.toString('utf8', 12, headerEnd)) as {
    dimension: number
    rows: number
  }
  const found = new Map<string, Float32Array>()
  let at = headerEnd
  for (let n = 0; n < rows; n++) {
    const keyEnd = at + 2 + bytes.readUInt16LE(at)
    const key = bytes.toString('utf8', at + 2, keyEnd)
    const floats = Float32Array.from({ length: dimension }, (_, i) =>
      bytes.readFloatLE(keyEnd + 4 * i),
    )
    found.set(key, floats)
    const memoryAt = keyEnd + 4 * dimension + 4
    at = memoryAt + 4 + 4 * bytes.readUInt32LE(memoryAt)
  }
  return found
}
