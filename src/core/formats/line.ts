import { ByteReader } from '../byte-reader.ts'
import { ByteWriter } from '../byte-writer.ts'
import { requireArgument } from '../errors.ts'
import { serializer } from '../options/ports.ts'
import { checkArgument } from '../options/shape.ts'
import type { Serializer } from '../serializer.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Reads the lines of a `LineFileSource` with a format of text. */
export function parseLine<T>(format: Serializer<T>): (line: string) => T {
  checkArgument('parseLine', 'format', serializer<T>(), format)
  return (line) => format.read(new ByteReader(encoder.encode(line)))
}

/** Writes the lines of a `LineFileSink` with a format of text. Throws INVALID_ARGUMENT. */
export function formatLine<T>(format: Serializer<T>): (value: T) => string {
  checkArgument('formatLine', 'format', serializer<T>(), format)
  const writer = new ByteWriter(256)
  return (value) => {
    writer.reset()
    format.write(value, writer)
    const line = decoder.decode(writer.bytes.subarray(0, writer.length))
    requireArgument(!/[\r\n]/.test(line), 'a line of a file cannot hold a line break')
    return line
  }
}
