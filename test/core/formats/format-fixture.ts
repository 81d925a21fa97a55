import { ByteReader } from '../../../src/core/byte-reader.ts'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { isWeirError } from '../../../src/core/errors.ts'
import type { Random } from '../../../src/core/random.ts'
import type { Serializer } from '../../../src/core/serializer.ts'

/** The bytes of a value. */
export function written<T>(format: Serializer<T>, value: T): Uint8Array {
  const writer = new ByteWriter(1)
  format.write(value, writer)
  return writer.toBytes()
}

/** Reads bytes in the middle of others, as a record's are. */
export function readBack<T>(format: Serializer<T>, bytes: Uint8Array): T {
  const batch = new Uint8Array(bytes.length + 8).fill(0x31)
  batch.set(bytes, 3)
  return format.read(new ByteReader(batch, 3, 3 + bytes.length))
}

export const readText = <T>(format: Serializer<T>, text: string): T =>
  readBack(format, new TextEncoder().encode(text))

export const writtenText = <T>(format: Serializer<T>, value: T): string =>
  new TextDecoder('utf-8', { ignoreBOM: true }).decode(written(format, value))

/** Some text with characters that are difficult for formats. */
export function strangeText(random: Random, longest = 12): string {
  const alphabet = [
    'a',
    '1',
    ',',
    ';',
    '"',
    '""',
    '\n',
    '\r\n',
    ' ',
    'ü',
    '\u{1f3ac}',
    ':',
    '\t',
    '\u{feff}',
    '.',
    '-',
    'e',
  ]
  const length = random.below(longest)
  return Array.from({ length }, () => alphabet[random.below(alphabet.length)]!).join('')
}

/** Whether the bytes are read, or refused as UNPARSABLE_RECORD; anything else is thrown on. */
export function outcome<T>(format: Serializer<T>, bytes: Uint8Array): 'read' | 'refused' {
  try {
    readBack(format, bytes)
    return 'read'
  } catch (error) {
    if (isWeirError(error, 'UNPARSABLE_RECORD')) return 'refused'
    throw error
  }
}
