import { copyBytes } from '../../core/copy-bytes.ts'
import type { RecordHeader } from './record-batch-format.ts'
import { writeVarint } from './varint.ts'

const encoder = new TextEncoder()

/** Encodes the headers of a record, with their count. */
export function encodeHeaders(headers: readonly RecordHeader[]): Uint8Array {
  const keys = headers.map((header) => encoder.encode(header.key))
  let size = 5
  headers.forEach((header, i) => {
    size += 10 + keys[i]!.length + (header.value?.length ?? 0)
  })
  const bytes = new Uint8Array(size)
  let at = writeVarint(bytes, 0, headers.length)
  headers.forEach((header, i) => {
    const key = keys[i]!
    at = copyBytes(key, 0, bytes, writeVarint(bytes, at, key.length), key.length)
    at = writeVarint(bytes, at, header.value === null ? -1 : header.value.length)
    if (header.value !== null) at = copyBytes(header.value, 0, bytes, at, header.value.length)
  })
  return bytes.subarray(0, at)
}
