import type { ByteWriter } from '../byte-writer.ts'

/** Packs values of the kinds that a field may have. */
export interface FieldPackers {
  /** Appends a number. */
  readonly number: (value: number, writer: ByteWriter) => void
  /** Appends a text; false for one that is packed elsewhere. */
  readonly text: (value: string, writer: ByteWriter) => boolean
}

/** Packs any value that is neither a number nor a text, of a field `depth` levels deep; false for one that is packed elsewhere. */
export type PackOther = (value: unknown, writer: ByteWriter, depth: number) => boolean

/**
 * Packs the fields of a record, which has the names of one shape in their order; false where one of them must be packed
 * elsewhere.
 */
export type PackFields = (
  record: object,
  writer: ByteWriter,
  depth: number,
  other: PackOther,
) => boolean

/**
 * The function that packs the fields of one shape, whose names are given as they are packed: the engine knows where it
 * finds them, where a look at each through its name takes longer than to pack it. Undefined where the process forbids
 * code from text.
 */
export function fieldsPackerOf(
  names: readonly string[],
  packedNames: readonly Uint8Array[],
  packers: FieldPackers,
): PackFields | undefined {
  const header = [0xde, names.length >> 8, names.length & 0xff]
  const fields = names.map((name, at) => {
    const before = at === 0 ? [...header, ...packedNames[at]!] : [...packedNames[at]!]
    return `${store(before)}
      value = record[${JSON.stringify(name)}]
      if (typeof value === 'number') number(value, writer)
      else if (typeof value === 'string') {
        if (!text(value, writer)) return false
      } else if (!other(value, writer, depth)) return false`
  })
  try {
    const make = new Function(
      'number',
      'text',
      `return (record, writer, depth, other) => {
        let value, bytes, at
        ${fields.join('\n')}
        return true
      }`,
    ) as (number: FieldPackers['number'], text: FieldPackers['text']) => PackFields
    return make(packers.number, packers.text)
  } catch {
    return undefined
  }
}

/** Statements that append these bytes: no loop, and no array that must be read. */
function store(bytes: readonly number[]): string {
  const stores = bytes.map((byte, at) => `bytes[at + ${at}] = ${byte}`)
  return `writer.reserve(${bytes.length})
      bytes = writer.bytes
      at = writer.length
      ${stores.join('\n')}
      writer.length = at + ${bytes.length}`
}
