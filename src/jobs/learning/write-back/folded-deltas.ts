import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { ByteReader } from '../../../core/byte-reader.ts'
import { ByteWriter } from '../../../core/byte-writer.ts'
import { WeirError } from '../../../core/errors.ts'
import type { SeenOffset } from '../delta-deduplicator.ts'

const FORMAT = 1
/** Most bytes that are unpacked: some 3 million sources of deltas. */
const MOST_BYTES = 64 * 1024 * 1024

/**
 * The highest offsets of the deltas that are folded into the rows of one version, as text of its marker:
 * base64 of the format as u8 and the deflated bytes of
 *
 *   { delta partition varuint | observations partition varuint | key group varuint | offset i53 } ...
 */
export function encodeFolded(seen: Iterable<SeenOffset>): string {
  const writer = new ByteWriter()
  for (const { deltaPartition, partition, sourceKeyGroup, offset } of seen) {
    writer.varuint(deltaPartition)
    writer.varuint(partition)
    writer.varuint(sourceKeyGroup)
    writer.int53(offset)
  }
  const packed = deflateRawSync(writer.toBytes())
  return Buffer.concat([Uint8Array.of(FORMAT), packed]).toString('base64')
}

/**
 * Reads `encodeFolded`, for a version. Throws UNSUPPORTED_VERSION, MALFORMED_DATA with the version and what to do.
 */
export function decodeFolded(text: string, version: number): readonly SeenOffset[] {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length === 0) throw damaged(version)
  if (bytes[0] !== FORMAT) {
    throw new WeirError(
      'UNSUPPORTED_VERSION',
      `folded deltas of format ${bytes[0]} are not known; this build reads ${FORMAT}, use the build that wrote them`,
    )
  }
  try {
    return readSeen(new ByteReader(unpacked(bytes.subarray(1))), version)
  } catch (cause) {
    throw damaged(version, cause)
  }
}

function readSeen(reader: ByteReader, version: number): readonly SeenOffset[] {
  const seen: SeenOffset[] = []
  while (reader.remaining > 0) {
    const deltaPartition = reader.varuint()
    const partition = reader.varuint()
    const sourceKeyGroup = reader.varuint()
    seen.push({ deltaPartition, version, partition, sourceKeyGroup, offset: reader.int53() })
  }
  return seen
}

function unpacked(bytes: Uint8Array): Uint8Array {
  return inflateRawSync(bytes, { maxOutputLength: MOST_BYTES })
}

/** Learning must not begin: deltas that the rows include would be folded twice. */
function damaged(version: number, cause?: unknown): WeirError {
  const message = `the marker of version ${version} is damaged: its field "learned.folded" does not say which deltas the rows include; publish a new version, or roll back to another one with "weir model rollback"`
  return new WeirError('MALFORMED_DATA', message, { cause, details: { version } })
}
