import { expect, it } from 'vitest'
import { ByteReader } from '../../src/core/byte-reader.ts'
import { ByteWriter } from '../../src/core/byte-writer.ts'
import {
  bytesSerializer,
  float32VectorSerializer,
  float64Serializer,
  int53Serializer,
  stringSerializer,
} from '../../src/core/serializer.ts'

const VALUES: readonly unknown[] = [
  ...['5', '', 5, -5.5, Number.NaN, 2 ** 60, undefined, null, true, 5n],
  ...[{}, [1, 2], new Uint8Array([1, 2]), new Float32Array([1, 2])],
]

interface Plain {
  write(value: never, writer: ByteWriter): void
  read(reader: ByteReader): unknown
}

/** Each serializer of plain values, and which of the values above it takes. */
const TAKES: Readonly<Record<string, readonly [Plain, (value: unknown) => boolean]>> = {
  stringSerializer: [stringSerializer, (value) => typeof value === 'string'],
  float64Serializer: [float64Serializer, (value) => typeof value === 'number'],
  int53Serializer: [int53Serializer, (value) => value === 5],
  bytesSerializer: [bytesSerializer, (value) => value instanceof Uint8Array],
  float32VectorSerializer: [float32VectorSerializer, (value) => value instanceof Float32Array],
}

it.each(Object.entries(TAKES))(
  '%s gives back what it takes, and refuses a value of another type',
  (_, [serializer, takes]) => {
    for (const value of VALUES) {
      const writer = new ByteWriter(64)
      const write = () => serializer.write(value as never, writer)
      if (takes(value)) {
        write()
        const reader = new ByteReader(writer.bytes.slice(0, writer.length))
        expect(serializer.read(reader)).toEqual(value)
      } else {
        expect(write, String(value)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
      }
    }
  },
)
