import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import { WeirError } from '../../core/errors.ts'
import type { SourceSplit } from '../../operators/port/source.ts'

/** Name of the operator state in which a source keeps its splits. */
export const SPLITS = 'splits'
const SPLIT_VERSION = 1
const SPLIT_WITH_ORIGIN_VERSION = 2
const SPLIT_WITH_EPOCH_VERSION = 3

/**
 * Encodes a split as operator state: format version (uint8), partition (uint32), next offset (53 bits);
 * version 2 has the origin (text) after them, and version 3 the leader epoch (int32) after that.
 */
export function encodeSplit({
  partition,
  nextOffset,
  origin,
  leaderEpoch,
}: SourceSplit): Uint8Array {
  const writer = new ByteWriter(64)
  const hasEpoch = origin !== undefined && leaderEpoch !== undefined
  if (hasEpoch) writer.uint8(SPLIT_WITH_EPOCH_VERSION)
  else writer.uint8(origin === undefined ? SPLIT_VERSION : SPLIT_WITH_ORIGIN_VERSION)
  writer.uint32(partition)
  writer.int53(nextOffset)
  if (origin !== undefined) writer.text(origin)
  if (hasEpoch) writer.int32(leaderEpoch)
  return writer.toBytes()
}

/** Decodes what `encodeSplit` wrote. Throws UNSUPPORTED_VERSION. */
export function decodeSplit(entry: Uint8Array): SourceSplit {
  const reader = new ByteReader(entry)
  const version = reader.uint8()
  if (version < SPLIT_VERSION || version > SPLIT_WITH_EPOCH_VERSION) {
    throw new WeirError(
      'UNSUPPORTED_VERSION',
      `split format ${version} is not known; this build reads 1 to 3`,
    )
  }
  const split = { partition: reader.uint32(), nextOffset: reader.int53() }
  if (version === SPLIT_VERSION) return split
  const origin = reader.text()
  if (version === SPLIT_WITH_ORIGIN_VERSION) return { ...split, origin }
  return { ...split, origin, leaderEpoch: reader.int32() }
}
