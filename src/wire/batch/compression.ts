import * as zlib from 'node:zlib'
import { assertNever, messageOf, WeirError } from '../../core/errors.ts'
import { type OptionKind, oneOf } from '../../core/options/kinds.ts'
import { packLz4, unpackLz4 } from './lz4-frame.ts'
import { packSnappy, unpackSnappy } from './snappy-stream.ts'
import { unpackZstd } from './zstd-frame.ts'

/** Compression of a batch's records. */
export type Codec = 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd'

/** Codec numbers in the attributes of a batch. */
export const CODEC_IDS: Readonly<Record<Codec, number>> = {
  none: 0,
  gzip: 1,
  snappy: 2,
  lz4: 3,
  zstd: 4,
}

const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const

/** The values of a codec. */
export const CODEC: OptionKind<Codec> = oneOf(...CODECS)

/** Most bytes of the unpacked records of one batch, so that a small batch cannot fill the memory. */
const MAX_UNPACKED_BYTES = 256 * 1024 * 1024

/** The codec of a number. Throws MALFORMED_DATA for a number that Kafka does not define. */
export function codecOf(id: number): Codec {
  const codec = CODECS[id]
  if (codec === undefined) {
    throw new WeirError(
      'MALFORMED_DATA',
      `compression ${id} is not defined; the numbers are 0 to 4`,
    )
  }
  return codec
}

/** Compresses the records of a batch. */
export function compress(codec: Codec, records: Uint8Array): Uint8Array {
  switch (codec) {
    case 'none':
      return records
    case 'gzip':
      return zlib.gzipSync(records, { level: 1 })
    case 'zstd':
      return zlib.zstdCompressSync(records)
    case 'snappy':
      return packSnappy(records)
    case 'lz4':
      return packLz4(records)
    default:
      return assertNever(codec)
  }
}

/** Decompresses the records of a batch. Throws MALFORMED_DATA. */
export function decompress(codec: Codec, packed: Uint8Array): Uint8Array {
  try {
    switch (codec) {
      case 'none':
        return packed
      case 'gzip':
        return plain(zlib.gunzipSync(packed, { maxOutputLength: MAX_UNPACKED_BYTES }))
      case 'zstd':
        return plain(unpackZstd(packed, MAX_UNPACKED_BYTES))
      case 'snappy':
        return plain(unpackSnappy(packed, MAX_UNPACKED_BYTES))
      case 'lz4':
        return plain(unpackLz4(packed, MAX_UNPACKED_BYTES))
      default:
        return assertNever(codec)
    }
  } catch (cause) {
    if (cause instanceof WeirError) throw cause
    throw new WeirError('MALFORMED_DATA', `the ${codec} data is broken: ${messageOf(cause)}`, {
      cause,
    })
  }
}

/** A plain array on the same memory, because `slice` of a Buffer does not copy. */
function plain(buffer: Uint8Array): Uint8Array {
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length)
}
