import type { ByteWriter } from '../byte-writer.ts'
import type { Serializer } from '../serializer.ts'
import { ASCII_ROOM, writeAscii } from '../text/ascii.ts'
import { FrequentTexts, hashOfText, LONGEST_KEPT, writePlace } from './frequent-texts.ts'
import { DEEPEST, KINDS } from './shape.ts'
import { type ShapeNode, ShapeTree } from './tree.ts'

/** Longest text whose length fits one byte. */
const LONGEST_LATIN = 255

/**
 * Appends the values of the fields of a record, which has the names of one shape in their order; false where only the
 * serializer can write it: one is no plain data, or the record is an instance of a class.
 */
type WriteFields = (
  record: object,
  writer: ByteWriter,
  depth: number,
  values: ShapeWriter,
) => boolean

/**
 * Writes a stream of values: plain data without the names of its fields, which are written once for each
 * shape, and anything else with the serializer. What `ShapeReader` reads equals what the serializer would
 * read.
 */
export class ShapeWriter {
  private readonly serializer: Serializer<unknown>
  private readonly shapes = new ShapeTree<WriteFields>()
  private readonly texts = new FrequentTexts()

  constructor(serializer: Serializer<unknown>) {
    this.serializer = serializer
  }

  /** Appends the next value of the stream. */
  write(value: unknown, writer: ByteWriter): void {
    const start = writer.length
    const { size } = this.shapes
    this.texts.begin()
    if (value !== undefined && this.writeValue(value, writer, 0)) return
    this.shapes.cutTo(size)
    this.texts.undo()
    writer.length = start
    writer.uint8(KINDS.encoded)
    this.serializer.write(value, writer)
  }

  /** Appends a value within the one that `write` has begun; false for one that only the serializer can write. */
  writeValue(value: unknown, writer: ByteWriter, depth: number): boolean {
    // Comparisons, not a switch: the engine looks at the kind of a value itself, and makes no name of it.
    if (typeof value === 'number') writeNumber(value, writer)
    else if (typeof value === 'string') this.writeText(value, writer)
    else if (typeof value === 'boolean') writer.uint8(value ? KINDS.true : KINDS.false)
    else if (value === undefined) writer.uint8(KINDS.undefined)
    else if (value === null) writer.uint8(KINDS.null)
    else {
      return typeof value === 'object' && depth < DEEPEST && this.writeObject(value, writer, depth)
    }
    return true
  }

  private writeObject(value: object, writer: ByteWriter, depth: number): boolean {
    if (Array.isArray(value)) {
      return (
        Object.getPrototypeOf(value) === Array.prototype && this.writeArray(value, writer, depth)
      )
    }
    // The names of a typed array are its indices, one text for each element.
    if (ArrayBuffer.isView(value)) return false
    const node = this.shapes.find(value)
    if (node === undefined) return false
    // A date has no names either.
    if (node.id < 0 || node.depth === 0) return this.writeUnknown(value, node, writer, depth)
    writer.uint8(KINDS.object)
    writer.uint8(node.id)
    // Made with the first record after the one that brought the shape.
    node.made ??= fieldsWriterOf(Object.keys(value))
    return node.made(value, writer, depth + 1, this)
  }

  /** Appends an object whose shape is new, or has no fields. */
  private writeUnknown(
    value: object,
    node: ShapeNode<WriteFields>,
    writer: ByteWriter,
    depth: number,
  ): boolean {
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype === Object.prototype || prototype === null) {
      return this.writeFields(value as Record<string, unknown>, node, writer, depth)
    }
    if (prototype !== Date.prototype) return false
    const time = (value as Date).getTime()
    writer.uint8(KINDS.date)
    writer.float64(time)
    return !Number.isNaN(time)
  }

  private writeFields(
    value: Record<string, unknown>,
    node: ShapeNode<WriteFields>,
    writer: ByteWriter,
    depth: number,
  ): boolean {
    if (node.id >= 0) {
      writer.uint8(KINDS.object)
      writer.uint8(node.id)
    } else {
      if (!this.shapes.add(node)) return false
      writer.uint8(KINDS.newObject)
      writer.uint8(node.depth)
      for (const name in value) writer.text(name)
    }
    for (const name in value) {
      if (!this.writeValue(value[name], writer, depth + 1)) return false
    }
    return true
  }

  private writeArray(values: readonly unknown[], writer: ByteWriter, depth: number): boolean {
    writer.uint8(KINDS.array)
    writer.varuint(values.length)
    for (let i = 0; i < values.length; i++) {
      // A hole reads like undefined here, and comes back from MessagePack as something else.
      if (values[i] === undefined) return false
      if (!this.writeValue(values[i], writer, depth + 1)) return false
    }
    return true
  }

  private writeText(text: string, writer: ByteWriter): void {
    const { length } = text
    if (length === 0 || length > LONGEST_KEPT) {
      writeText(text, writer)
      return
    }
    const { texts } = this
    const place = texts.placeOf(hashOfText(text))
    if (texts.has(place, text)) writePlace(KINDS.knownLatin, place, writer)
    else if (texts.comesAgain(place, text)) this.keepText(text, place, writer)
    else writeText(text, writer)
  }

  private keepText(text: string, place: number, writer: ByteWriter): void {
    const { length } = text
    const start = writer.length
    writePlace(KINDS.keptLatin, place, writer)
    writer.uint8(length)
    if (writeLatin(text, writer)) this.texts.keep(place, writer.bytes, start + 4, length)
    else {
      writer.length = start
      writeText(text, writer)
    }
  }
}

function writeNumber(value: number, writer: ByteWriter): void {
  if ((value | 0) !== value) {
    writer.uint8(KINDS.float64)
    writer.float64(value)
    return
  }
  writer.reserve(5)
  const { bytes, length } = writer
  bytes[length] = KINDS.int32
  bytes[length + 1] = value
  bytes[length + 2] = value >> 8
  bytes[length + 3] = value >> 16
  bytes[length + 4] = value >> 24
  writer.length = length + 5
}

function writeText(text: string, writer: ByteWriter): void {
  const start = writer.length
  if (text.length <= LONGEST_LATIN) {
    writer.uint8(KINDS.latin)
    writer.uint8(text.length)
    if (writeLatin(text, writer)) return
    writer.length = start
  }
  writer.uint8(KINDS.text)
  writer.text(text)
}

/** Appends one byte a letter; false, with nothing appended, where a letter needs more. */
function writeLatin(text: string, writer: ByteWriter): boolean {
  writer.reserve(text.length + ASCII_ROOM)
  const end = writeAscii(text, writer.bytes, writer.length)
  if (end < 0) return false
  writer.length = end
  return true
}

/**
 * The function that writes the fields of one shape: the engine knows where it finds them, where a look at each through
 * its name costs as much as to write it. Where the process forbids code from text, a loop does the same.
 */
function fieldsWriterOf(names: readonly string[]): WriteFields {
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
    ) as (write: typeof writeNumber) => WriteFields
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
