import type { ByteWriter } from '../byte-writer.ts'
import { type ShapeNode, ShapeTree } from '../shapes/tree.ts'
import { ASCII_ROOM, writeAscii } from '../text/ascii.ts'
import { fieldsPackerOf, type PackFields, type PackOther } from './fields-packer.ts'

/** Values nested more deeply, or in a circle, are left to the other packer. */
const DEEPEST = 32
/** Longer texts cost less in native code. */
const LONGEST_TEXT = 255
/** Most names that are kept packed; objects with further ones are dictionaries. */
const MOST_NAMES = 4096
/** After values that it could not pack, the packer does not try this many at most. */
const MOST_SKIPPED = 1024
/** Objects of a shape that are packed name by name before a function is made for it. */
const FIRST_LOOKS = 32
/** Most bytes of names in such a function. */
const MOST_NAME_BYTES = 1024
/** Most such functions. */
const MOST_FUNCTIONS = 256
/** Names that change how an object is packed, or how it is read. */
const RESERVED = ['constructor', 'hasOwnProperty', 'toJSON', '__proto__']

const doubleBytes = new Uint8Array(8)
const double = new DataView(doubleBytes.buffer)

/** The packed name of a field, and what came behind it and inside of it lately. */
class PackedName {
  readonly name: string
  readonly bytes: Uint8Array
  next: PackedName | undefined
  inside: PackedName | undefined

  constructor(name: string) {
    this.name = name
    const { length } = name
    const header = length < 0x20 ? [0xa0 | length] : [0xd9, length]
    this.bytes = Uint8Array.from([...header, ...Buffer.from(name, 'latin1')])
  }
}

/** A shape of which objects were packed: how many, and what packs the next ones. */
class PackedShape {
  looks = 0
  pack: PackFields | undefined
}

/**
 * Packs plain data to the same bytes as msgpackr, into the writer itself: objects without a class, arrays, short
 * ASCII text, numbers, booleans, null and undefined. It remembers the packed names of fields, and makes a function for
 * each shape that comes often.
 */
export class PlainPacker {
  private readonly root = new PackedName('')
  private readonly shapes = new ShapeTree<PackedShape>()
  private functions = 0
  private readonly other: PackOther = (value, writer, depth) =>
    this.writeValue(value, writer, this.root, depth)
  private readonly names = new Map<string, PackedName>()
  /** Values that are not tried. */
  private skip = 0
  private skipNext = 0

  /** Appends a value; false, with nothing appended, for one that must be packed elsewhere. */
  write(value: unknown, writer: ByteWriter): boolean {
    if (this.skip > 0) {
      this.skip -= 1
      return false
    }
    const start = writer.length
    if (this.writeValue(value, writer, this.root, 0)) {
      this.skipNext = 0
      return true
    }
    writer.length = start
    this.skipNext = Math.min(MOST_SKIPPED, 2 * this.skipNext + 1)
    this.skip = this.skipNext
    return false
  }

  private writeValue(value: unknown, writer: ByteWriter, at: PackedName, depth: number): boolean {
    // Comparisons, not a switch: the engine looks at the kind of a value itself, and makes no name of it.
    if (typeof value === 'number') writeNumber(value, writer)
    else if (typeof value === 'string') return writeText(value, writer)
    else if (typeof value === 'boolean') writer.uint8(value ? 0xc3 : 0xc2)
    else if (value === null) writer.uint8(0xc0)
    else if (value === undefined) {
      writer.uint8(0xd4)
      writer.uint16(0)
    } else {
      return (
        typeof value === 'object' && depth < DEEPEST && this.writeObject(value, writer, at, depth)
      )
    }
    return true
  }

  private writeObject(value: object, writer: ByteWriter, at: PackedName, depth: number): boolean {
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype === Object.prototype) {
      return this.writeFields(value as Record<string, unknown>, writer, at, depth)
    }
    return prototype === Array.prototype && this.writeArray(value as unknown[], writer, at, depth)
  }

  private writeFields(
    value: Record<string, unknown>,
    writer: ByteWriter,
    at: PackedName,
    depth: number,
  ): boolean {
    const node = this.shapes.find(value)
    if (node === undefined || node.depth === 0) return this.writeNamed(value, writer, at, depth)
    node.made ??= new PackedShape()
    const shape = node.made
    if (shape.pack !== undefined) return shape.pack(value, writer, depth + 1, this.other)
    shape.looks += 1
    if (shape.looks === FIRST_LOOKS && this.functions < MOST_FUNCTIONS) {
      shape.pack = this.packerOf(node, value)
    }
    return this.writeNamed(value, writer, at, depth)
  }

  /** What packs the fields of a shape; undefined where a name is not packed here. */
  private packerOf(node: ShapeNode<PackedShape>, value: object): PackFields | undefined {
    const names = Object.keys(value)
    if (names.length !== node.depth) return undefined
    const packed = names.map((name) => this.packedName(name)?.bytes)
    let bytes = 0
    for (const name of packed) bytes += name?.length ?? MOST_NAME_BYTES
    if (bytes >= MOST_NAME_BYTES) return undefined
    this.functions += 1
    return fieldsPackerOf(names, packed as Uint8Array[], { number: writeNumber, text: writeText })
  }

  private writeNamed(
    value: Record<string, unknown>,
    writer: ByteWriter,
    at: PackedName,
    depth: number,
  ): boolean {
    const start = writer.length
    writer.reserve(3)
    writer.length += 3
    at.inside ??= new PackedName('')
    let last = at.inside
    let size = 0
    for (const name in value) {
      const known = last.next?.name === name ? last.next : this.nameAfter(last, name)
      if (known === undefined) return false
      last = known
      writer.copy(last.bytes, 0, last.bytes.length)
      if (!this.writeValue(value[name], writer, last, depth + 1)) return false
      size += 1
    }
    const { bytes } = writer
    bytes[start] = 0xde
    bytes[start + 1] = size >> 8
    bytes[start + 2] = size
    return true
  }

  private writeArray(
    values: readonly unknown[],
    writer: ByteWriter,
    at: PackedName,
    depth: number,
  ): boolean {
    const { length } = values
    if (length < 0x10) writer.uint8(0x90 | length)
    else if (length < 0x10000) {
      writer.uint8(0xdc)
      writer.uint8(length >> 8)
      writer.uint8(length)
    } else return false
    for (let i = 0; i < length; i++) {
      const element = values[i]
      // A hole reads like undefined, and would come back as it.
      if (element === undefined && !(i in values)) return false
      if (!this.writeValue(element, writer, at, depth + 1)) return false
    }
    return true
  }

  /** The packed name, which is expected after `last` from now on; undefined for one that is not packed here. */
  private nameAfter(last: PackedName, name: string): PackedName | undefined {
    const known = this.packedName(name)
    if (known !== undefined) last.next = known
    return known
  }

  private packedName(name: string): PackedName | undefined {
    let known = this.names.get(name)
    if (known === undefined) {
      if (this.names.size === MOST_NAMES || !isPackedHere(name)) return undefined
      known = new PackedName(name)
      this.names.set(name, known)
    }
    return known
  }
}

function isPackedHere(name: string): boolean {
  return name.length <= LONGEST_TEXT && isAscii(name) && !RESERVED.includes(name)
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 127) return false
  return true
}

function writeNumber(value: number, writer: ByteWriter): void {
  if (value >>> 0 === value) writeUint32(value, writer)
  else if (value >> 0 !== value) {
    writer.uint8(0xcb)
    double.setFloat64(0, value)
    writer.copy(doubleBytes, 0, 8)
  } else if (value >= -0x20) writer.uint8(value)
  else if (value >= -0x80) {
    writer.uint8(0xd0)
    writer.uint8(value)
  } else if (value >= -0x8000) {
    writer.uint8(0xd1)
    writer.uint8(value >> 8)
    writer.uint8(value)
  } else writeWord(0xd2, value, writer)
}

function writeUint32(value: number, writer: ByteWriter): void {
  if (value < 0x80) writer.uint8(value)
  else if (value < 0x100) {
    writer.uint8(0xcc)
    writer.uint8(value)
  } else if (value < 0x10000) {
    writer.uint8(0xcd)
    writer.uint8(value >> 8)
    writer.uint8(value)
  } else writeWord(0xce, value, writer)
}

function writeWord(tag: number, value: number, writer: ByteWriter): void {
  writer.reserve(5)
  const { bytes, length } = writer
  bytes[length] = tag
  bytes[length + 1] = value >>> 24
  bytes[length + 2] = value >>> 16
  bytes[length + 3] = value >>> 8
  bytes[length + 4] = value
  writer.length = length + 5
}

function writeText(text: string, writer: ByteWriter): boolean {
  const { length } = text
  if (length > LONGEST_TEXT) return false
  writer.reserve(length + 2 + ASCII_ROOM)
  const { bytes } = writer
  let at = writer.length
  if (length < 0x20) bytes[at++] = 0xa0 | length
  else {
    bytes[at++] = 0xd9
    bytes[at++] = length
  }
  const end = writeAscii(text, bytes, at)
  if (end < 0) return false
  writer.length = end
  return true
}
