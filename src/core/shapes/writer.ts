import type { ByteWriter } from '../byte-writer.ts'
import type { Serializer } from '../serializer.ts'
import { DEEPEST, KINDS } from './shape.ts'
import { ShapeTree } from './tree.ts'

/** Longest text whose length fits one byte. */
const LONGEST_LATIN = 255

/**
 * Writes a stream of values: plain data without the names of its fields, which are written once for each
 * shape, and anything else with the serializer. What `ShapeReader` reads equals what the serializer would
 * read.
 */
export class ShapeWriter {
  private readonly serializer: Serializer<unknown>
  private readonly shapes = new ShapeTree()

  constructor(serializer: Serializer<unknown>) {
    this.serializer = serializer
  }

  /** Appends the next value of the stream. */
  write(value: unknown, writer: ByteWriter): void {
    const start = writer.length
    const { size } = this.shapes
    if (value !== undefined && this.writeValue(value, writer, 0)) return
    this.shapes.cutTo(size)
    writer.length = start
    writer.uint8(KINDS.encoded)
    this.serializer.write(value, writer)
  }

  /** Appends a value; false for one that only the serializer can write. */
  private writeValue(value: unknown, writer: ByteWriter, depth: number): boolean {
    switch (typeof value) {
      case 'number':
        writeNumber(value, writer)
        return true
      case 'string':
        writeText(value, writer)
        return true
      case 'boolean':
        writer.uint8(value ? KINDS.true : KINDS.false)
        return true
      case 'undefined':
        writer.uint8(KINDS.undefined)
        return true
      case 'object':
        if (value !== null) return depth < DEEPEST && this.writeObject(value, writer, depth)
        writer.uint8(KINDS.null)
        return true
      default:
        return false
    }
  }

  private writeObject(value: object, writer: ByteWriter, depth: number): boolean {
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype === Object.prototype || prototype === null) {
      return this.writeFields(value as Record<string, unknown>, writer, depth)
    }
    if (prototype === Array.prototype) return this.writeArray(value as unknown[], writer, depth)
    if (prototype !== Date.prototype) return false
    const time = (value as Date).getTime()
    writer.uint8(KINDS.date)
    writer.float64(time)
    return !Number.isNaN(time)
  }

  private writeFields(value: Record<string, unknown>, writer: ByteWriter, depth: number): boolean {
    const node = this.shapes.find(value)
    if (node === undefined) return false
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
}

function writeNumber(value: number, writer: ByteWriter): void {
  if ((value | 0) === value) {
    writer.uint8(KINDS.int32)
    writer.int32(value)
  } else {
    writer.uint8(KINDS.float64)
    writer.float64(value)
  }
}

function writeText(text: string, writer: ByteWriter): void {
  const { length } = text
  if (length <= LONGEST_LATIN) {
    writer.reserve(length + 2)
    const { bytes } = writer
    const start = writer.length + 2
    let i = 0
    for (; i < length; i++) {
      const code = text.charCodeAt(i)
      if (code > 127) break
      bytes[start + i] = code
    }
    if (i === length) {
      bytes[start - 2] = KINDS.latin
      bytes[start - 1] = length
      writer.length = start + length
      return
    }
  }
  writer.uint8(KINDS.text)
  writer.text(text)
}
