import { ByteReader } from '../core/byte-reader.ts'
import { ByteWriter } from '../core/byte-writer.ts'
import { WeirError } from '../core/errors.ts'
import type { SourceSplit } from '../operators/source.ts'

/** Name of the operator state in which a source keeps its splits. */
export const SPLITS = 'splits'
const SPLIT_VERSION = 1

/** A split as operator state: format version 1, partition (uint32), next offset (53 bits). */
export function encodeSplit(split: SourceSplit): Uint8Array {
  const writer = new ByteWriter(13)
  writer.uint8(SPLIT_VERSION)
  writer.uint32(split.partition)
  writer.int53(split.nextOffset)
  return writer.toBytes()
}

/** The split of `encodeSplit`. Throws UNSUPPORTED_VERSION. */
export function decodeSplit(entry: Uint8Array): SourceSplit {
  const reader = new ByteReader(entry)
  const version = reader.uint8()
  if (version !== SPLIT_VERSION) {
    throw new WeirError('UNSUPPORTED_VERSION', `split format ${version}; only 1 is read`)
  }
  return { partition: reader.uint32(), nextOffset: reader.int53() }
}
