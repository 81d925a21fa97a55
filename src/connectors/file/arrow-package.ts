import zlib from 'node:zlib'
import { messageOf, WeirError } from '../../core/errors.ts'
import { unpackLz4 } from '../../wire/batch/lz4-frame.ts'
import { readByLibrary } from './foreign-formats.ts'

/** The library. */
export type Arrow = typeof import('apache-arrow')

/** Most bytes of one column of a batch, unpacked. */
const MOST_BYTES = 2 ** 31 - 1

/** The result of `read`; what the library throws means that the file is damaged, or of a kind that it does not know. */
export function wholeArrow<T>(place: string, read: () => T | Promise<T>): Promise<T> {
  return readByLibrary(
    place,
    read,
    (reason) =>
      `${place} is an Arrow file that is damaged, cut off or of a type that is not read: ${reason}; get it again, or convert it with: python3 -c "import pandas; pandas.read_feather('${place}').to_csv('${place}.csv', index=False)"`,
  )
}

/** The library, with what unpacks columns. Throws UNSUPPORTED with the command that installs it. */
export async function loadArrow(place: string): Promise<Arrow> {
  try {
    const arrow = await import('apache-arrow')
    const { compressionRegistry, CompressionType } = arrow
    compressionRegistry.set(CompressionType.LZ4_FRAME, {
      decode: (packed) => unpackLz4(packed, MOST_BYTES),
    })
    compressionRegistry.set(CompressionType.ZSTD, {
      decode: (packed) => zlib.zstdDecompressSync(packed),
    })
    return arrow
  } catch (cause) {
    const message = `${place} is an Arrow file, and Arrow files need the package apache-arrow: run \`npm install apache-arrow\` (${messageOf(cause)})`
    throw new WeirError('UNSUPPORTED', message, { cause, details: { path: place } })
  }
}
