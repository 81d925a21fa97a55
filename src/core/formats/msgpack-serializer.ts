import { createRequire } from 'node:module'
import type { Packr } from 'msgpackr'
import type { ByteReader } from '../byte-reader.ts'
import type { ByteWriter } from '../byte-writer.ts'
import { messageOf, WeirError } from '../errors.ts'
import { type Serializer, type ValueCopier, withCopier } from '../serializer.ts'
import { PlainCopier } from './plain-copier.ts'
import { PlainPacker } from './plain-packer.ts'
import { refuseChanging } from './refuse-changing.ts'

/** Type of the extension for a Map, `M`: an array of keys and values in turn. */
const MAP_EXTENSION = 0x4d

/** A Map as it is packed: keys and values in turn. */
class PackedMap {
  readonly entries: readonly unknown[]

  constructor(entries: readonly unknown[]) {
    this.entries = entries
  }
}

/** Type of the extension for an object with a field named `__proto__`, `O`: an array of names and values in turn. */
const OBJECT_EXTENSION = 0x4f

/** An object as it is packed where msgpackr reads a name of it back under another one. */
class PackedObject {
  readonly entries: readonly unknown[]

  constructor(entries: readonly unknown[]) {
    this.entries = entries
  }
}

/** Packs values, and reports whether the last one contained a Map. */
interface ValuePacker {
  readonly packr: Packr
  /** Whether the packer met a Map since this was set to false. */
  metMap: boolean
}

let packer: ValuePacker | undefined

/** Loaded by the first value that is packed: many slots have none, and all wait for their modules. */
function loadPacker(): ValuePacker {
  const { addExtension, Packr } = createRequire(import.meta.url)(
    'msgpackr',
  ) as typeof import('msgpackr')
  addExtension({
    Class: PackedMap,
    type: MAP_EXTENSION,
    write: (map: PackedMap) => map.entries,
    read: mapOf,
  })
  addExtension({
    Class: PackedObject,
    type: OBJECT_EXTENSION,
    write: (object: PackedObject) => object.entries,
    // `fromEntries` makes own fields: none of them sets the prototype.
    read: (entries: readonly unknown[]) => Object.fromEntries(mapOf(entries)),
  })
  const packr = new Packr({ useRecords: false, moreTypes: true, copyBuffers: true })
  const loaded: ValuePacker = { packr, metMap: false }
  // msgpackr writes a Map as a plain object, and reads this setting once for each Map that it meets:
  // a value without a Map costs nothing more.
  Object.defineProperty(packr, 'mapAsEmptyObject', {
    get() {
      loaded.metMap = true
      return false
    },
  })
  packer = loaded
  return loaded
}

function mapOf(entries: readonly unknown[]): Map<unknown, unknown> {
  const map = new Map<unknown, unknown>()
  for (let i = 0; i < entries.length; i += 2) map.set(entries[i], entries[i + 1])
  return map
}

/** `hasProto`: whether a field of the value, or within it, is named `__proto__`. */
function pack(value: unknown, hasProto: boolean): Uint8Array {
  const loaded = packer ?? loadPacker()
  if (!hasProto) {
    const bytes = loaded.packr.pack(value)
    if (!loaded.metMap) return bytes
    loaded.metMap = false
  }
  return loaded.packr.pack(withExtensions(value))
}

/** The value with each Map replaced by a `PackedMap`, and each object with a field `__proto__` by a `PackedObject`. */
function withExtensions(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Map) {
    return new PackedMap([...value].flat(1).map(withExtensions))
  }
  if (Array.isArray(value)) return value.map(withExtensions)
  if (value instanceof Set) return new Set([...value].map(withExtensions))
  if (!isPlain(value)) return value
  const fields = Object.entries(value).map(
    ([name, field]) => [name, withExtensions(field)] as const,
  )
  return Object.hasOwn(value, '__proto__')
    ? new PackedObject(fields.flat(1))
    : Object.fromEntries(fields)
}

/** Whether msgpackr packs the fields of an object: it has no encoding of its class. */
function isPlain(value: object): boolean {
  if (ArrayBuffer.isView(value)) return false
  return ![Date, ArrayBuffer, Error, RegExp].some((type) => value instanceof type)
}

function unpack<T>(reader: ByteReader): T {
  try {
    return (packer ?? loadPacker()).packr.unpack(reader.raw(reader.remaining)) as T
  } catch (cause) {
    throw new WeirError('MALFORMED_DATA', `not MessagePack: ${messageOf(cause)}`, { cause })
  }
}

const copier = new PlainCopier()
const plainPacker = new PlainPacker()

/**
 * MessagePack: the default for plain data, Map, Set, Date, bigint and typed arrays. An instance of a class that has
 * only fields comes back as a plain object; one with methods is refused (UNSUPPORTED), as are one of a class that
 * extends Error, Date, RegExp or a typed array, promises, functions and arrays with holes.
 */
export function msgpackSerializer<T>(): Serializer<T> {
  const serializer: Serializer<T> = {
    id: 'msgpack/1',
    write(value, writer: ByteWriter) {
      if (plainPacker.write(value, writer)) return
      const hasProto = refuseChanging(value)
      writer.raw(pack(value, hasProto))
    },
    read: (reader) => unpack<T>(reader),
  }
  return withCopier(serializer, copier as ValueCopier<unknown> as ValueCopier<T>)
}

/**
 * MessagePack as other libraries write it: a Map is written as a map, and read as an object with text keys.
 */
export function plainMsgpackSerializer<T>(): Serializer<T> {
  return {
    id: 'msgpack/1',
    write(value, writer) {
      const loaded = packer ?? loadPacker()
      writer.raw(loaded.packr.pack(value))
      loaded.metMap = false
    },
    read: (reader) => unpack<T>(reader),
  }
}
