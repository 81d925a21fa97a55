import type { RecordHeader } from './record-batch-format.ts'

/** Most bytes of a record besides key, value and headers: six varints and the attributes. */
export const RECORD_OVERHEAD = 5 + 1 + 10 + 5 + 5 + 5 + 5
/** Most bytes of a header besides key and value: two varints. */
const HEADER_OVERHEAD = 5 + 5
/** Most bytes of one UTF-16 unit of a header's key in UTF-8. */
const UTF8_BYTES = 3

/** The most bytes that a record takes in an uncompressed batch. */
export function recordSizeBound(
  key: Uint8Array | null,
  value: Uint8Array | null,
  headers: readonly RecordHeader[],
): number {
  let size = RECORD_OVERHEAD
  if (key !== null) size += key.length
  if (value !== null) size += value.length
  for (let i = 0; i < headers.length; i++) {
    const header = headers[i]!
    size += HEADER_OVERHEAD + header.key.length * UTF8_BYTES + (header.value?.length ?? 0)
  }
  return size
}
