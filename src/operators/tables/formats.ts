import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import { msgpackSerializer } from '../../core/formats/msgpack-serializer.ts'
import type { Serializer } from '../../core/serializer.ts'

const ABSENT = 0
const PRESENT = 1

/**
 * Serializer of the records between the operators of a table: MessagePack, unless a field has a serializer of its own. Then,
 * with a field that is null or missing, which comes back as null:
 *
 *   for each field, in the order of `fields`: | 0: u8 |   or   | 1: u8 | length: varuint | bytes |
 */
export function recordFormat<T extends object>(
  fields: Readonly<Record<keyof T, Serializer<unknown> | undefined>>,
): Serializer<T> {
  const given = Object.entries<Serializer<unknown> | undefined>(fields)
  if (given.every(([, format]) => format === undefined)) return msgpackSerializer<T>()
  return fieldsSerializer<T>(
    given.map(([name, format]) => [name as keyof T & string, format ?? msgpackSerializer()]),
  )
}

function fieldsSerializer<T extends object>(
  fields: readonly (readonly [keyof T & string, Serializer<unknown>])[],
): Serializer<T> {
  const scratch = new ByteWriter(64)
  return {
    id: `fields/1(${fields.map(([name, { id }]) => `${name}:${id}`).join(',')})`,
    write(record, writer) {
      for (const [name, format] of fields) {
        const value = record[name]
        if (value === null || value === undefined) {
          writer.uint8(ABSENT)
          continue
        }
        scratch.reset()
        format.write(value, scratch)
        writer.uint8(PRESENT)
        writer.sized(writtenBy(scratch))
      }
    },
    read(reader) {
      const read = fields.map(([name, format]) => {
        const isPresent = reader.uint8() === PRESENT
        return [name, isPresent ? format.read(new ByteReader(reader.sized())) : null]
      })
      return Object.fromEntries(read) as T
    },
  }
}

/** Whether two values have the same bytes. */
export function sameBytes<T>(serializer: Serializer<T>): (a: T, b: T) => boolean {
  const [first, second] = [new ByteWriter(64), new ByteWriter(64)]
  return (a, b) => {
    if (a === b) return true
    first.reset()
    second.reset()
    serializer.write(a, first)
    serializer.write(b, second)
    return Buffer.compare(writtenBy(first), writtenBy(second)) === 0
  }
}

/** A view of what a writer has. */
function writtenBy({ bytes, length }: ByteWriter): Uint8Array {
  return bytes.subarray(0, length)
}
