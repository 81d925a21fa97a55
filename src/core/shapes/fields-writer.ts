import type { ByteWriter } from '../byte-writer.ts'

/** Writes any value. */
interface ValueWriter {
  /** Appends a value; false for one that only the serializer can write. */
  writeValue(value: unknown, writer: ByteWriter, depth: number): boolean
}

/** Appends a number. */
type WriteNumber = (value: number, writer: ByteWriter) => void

/**
 * Appends the values of the fields of a record, which has the names of one shape in their order; false where only the
 * serializer can write it: one is no plain data, or the record is an instance of a class.
 */
export type WriteFields = (
  record: object,
  writer: ByteWriter,
  depth: number,
  values: ValueWriter,
) => boolean

/**
 * The function that writes the fields of one shape: the engine knows where it finds them, where a look at each through
 * its name costs as much as to write it. Where the process forbids code from text, a loop does the same.
 */
export function fieldsWriterOf(names: readonly string[], writeNumber: WriteNumber): WriteFields {
  const fields = names.map(
    (name) => `value = record[${JSON.stringify(name)}]
      if (typeof value === 'number') writeNumber(value, writer)
      else if (!values.writeValue(value, writer, depth)) return false`,
  )
  try {
    const make = new Function(
      'writeNumber',
      `return (record, writer, depth, values) => {
        let value
        ${fields.join('\n')}
        const prototype = Object.getPrototypeOf(record)
        return prototype === Object.prototype || prototype === null
      }`,
    ) as (writeNumber: WriteNumber) => WriteFields
    return make(writeNumber)
  } catch {
    return loopOver(names)
  }
}

function loopOver(names: readonly string[]): WriteFields {
  return (record, writer, depth, values) => {
    const prototype: unknown = Object.getPrototypeOf(record)
    if (prototype !== Object.prototype && prototype !== null) return false
    const fields = record as Readonly<Record<string, unknown>>
    return names.every((name) => values.writeValue(fields[name], writer, depth))
  }
}
