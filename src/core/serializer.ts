import type { ByteReader } from './byte-reader.ts'
import type { ByteWriter } from './byte-writer.ts'
import { WeirError } from './errors.ts'

/** Copies values of one type without their bytes, for state that stays in the memory of its thread. */
export interface ValueCopier<T> {
  /** Whether `copy` gives back the value itself, because the program changes no object that state holds. */
  readonly shares: boolean
  /** The copier of such programs, where there is one. */
  readonly sharer?: ValueCopier<T>
  /** About how many bytes of heap the last copy takes. */
  readonly bytes: number
  /** Whether the last copy is an object without others in it, of which `{ ...copy }` is a copy. @default false */
  readonly isFlat?: boolean
  /**
   * A copy that shares no object with `value`, unless the copier `shares`, and equals what the serializer would
   * read back; undefined for a value of which only the serializer knows that.
   */
  copy(value: T): T | undefined
  /** About how many bytes of heap a value takes that `copy` has returned. */
  measure(value: T): number
}

/** Reads one value; the reader spans exactly its bytes. Throws MALFORMED_DATA. */
export type ValueReader<T> = (reader: ByteReader) => T

/**
 * Turns values of one type into bytes and back. Serialization happens once, at the edge: stores,
 * channels and segments see bytes. `id` is stored beside the bytes and compared at restore.
 */
export interface Serializer<T> {
  /** Stable name and version of the format, for example `string/1`. */
  readonly id: string
  /** Appends `value`. */
  write(value: T, writer: ByteWriter): void
  /** Reads one value; the reader spans exactly its bytes. Throws MALFORMED_DATA. */
  read(reader: ByteReader): T
}

/** A serializer that also reads what others wrote, such as its older versions: state that they wrote can be restored. */
export interface EvolvingSerializer<T> extends Serializer<T> {
  /**
   * The reader of what the serializer with this id wrote; a text that says why it cannot be read. The next checkpoint
   * writes restored state with `write`.
   */
  readonly readerOf: (storedId: string) => ValueReader<T> | string
}

/** The reader of what a serializer with the stored id wrote; a text that says why the serializer cannot read it. */
export function readerOf<T>(serializer: Serializer<T>, storedId: string): ValueReader<T> | string {
  if (storedId === serializer.id) return serializer.read
  const { readerOf: resolve } = serializer as Partial<EvolvingSerializer<T>>
  return resolve?.(storedId) ?? `${serializer.id} does not read ${storedId}`
}

/**
 * As `readerOf`, of a serializer that holds values of another one, and whose id is `<name>(<id of the other one>)`:
 * `wrap` makes its reader of one of those values.
 */
export function readerOfHolder<T, V>(
  values: Serializer<V>,
  { name, storedId }: { readonly name: string; readonly storedId: string },
  wrap: (read: ValueReader<V>) => ValueReader<T>,
): ValueReader<T> | string {
  const isHolder = storedId.startsWith(`${name}(`) && storedId.endsWith(')')
  if (!isHolder) return `${name} does not read ${storedId}`
  const read = readerOf(values, storedId.slice(name.length + 1, -1))
  return typeof read === 'string' ? read : wrap(read)
}

/** The copier of a serializer, if it has one; without it, memory holds the bytes of objects. */
export function copierOf<T>(serializer: Serializer<T>): ValueCopier<T> | undefined {
  return (serializer as { readonly copier?: ValueCopier<T> }).copier
}

/** Gives a serializer its copier. A serializer that is made from it by spreading does not get it. */
export function withCopier<T>(serializer: Serializer<T>, copier: ValueCopier<T>): Serializer<T> {
  return Object.defineProperty(serializer, 'copier', { value: copier, enumerable: false })
}

/** A serializer like this one whose copier gives back values themselves; the same one where there is no such copier. */
export function sharingSerializer<T>(serializer: Serializer<T>): Serializer<T> {
  const sharer = copierOf(serializer)?.sharer
  return sharer === undefined ? serializer : withCopier({ ...serializer }, sharer)
}

/** Whether the serializer of this id returns exactly this primitive. */
export function isKeptDecoded(
  serializerId: string,
  value: unknown,
): value is number | string | boolean {
  // Comparisons, not a switch: the engine looks at the kind of a value itself, and makes no name of it.
  if (typeof value === 'object') return false
  if (typeof value === 'number') {
    return (
      serializerId === 'float64/1' ||
      serializerId === 'msgpack/1' ||
      (serializerId === 'int53/1' && Number.isSafeInteger(value))
    )
  }
  if (typeof value === 'string') return serializerId === 'string/1' || serializerId === 'msgpack/1'
  return typeof value === 'boolean' && serializerId === 'msgpack/1'
}

/**
 * Refuses a value of another type, which would be turned into other bytes without a word: an array into an empty vector.
 * The cost is one comparison a value. Throws INVALID_ARGUMENT.
 */
function refuseValue(serializer: string, takes: string, value: unknown): never {
  const given = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`
  const shown = value === undefined ? 'undefined' : given
  throw new WeirError('INVALID_ARGUMENT', `${serializer} takes ${takes}, not ${shown}`)
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** UTF-8 text filling its bytes. */
export const stringSerializer: Serializer<string> = {
  id: 'string/1',
  write(value, writer) {
    if (typeof value !== 'string') refuseValue('stringSerializer', 'texts', value)
    writer.reserve(value.length * 3)
    writer.length += encoder.encodeInto(value, writer.bytes.subarray(writer.length)).written
  },
  read: (reader) => decoder.decode(reader.raw(reader.remaining)),
}

/** A double in eight bytes. */
export const float64Serializer: Serializer<number> = {
  id: 'float64/1',
  write(value, writer) {
    if (typeof value !== 'number') refuseValue('float64Serializer', 'numbers', value)
    writer.float64(value)
  },
  read: (reader) => reader.float64(),
}

/** A whole number of 53 bits in eight bytes. */
export const int53Serializer: Serializer<number> = {
  id: 'int53/1',
  write: (value, writer) => writer.int53(value),
  read: (reader) => reader.int53(),
}

/** Bytes as they are; `read` returns a copy that the caller owns. */
export const bytesSerializer: Serializer<Uint8Array> = {
  id: 'bytes/1',
  write(value, writer) {
    if (!(value instanceof Uint8Array)) refuseValue('bytesSerializer', 'Uint8Arrays', value)
    writer.raw(value)
  },
  read: (reader) => reader.raw(reader.remaining).slice(),
}

/** A float32 vector, little-endian, its length given by its bytes. */
export const float32VectorSerializer: Serializer<Float32Array> = {
  id: 'float32-vector/1',
  write(value, writer) {
    if (!(value instanceof Float32Array)) {
      refuseValue('float32VectorSerializer', 'Float32Arrays', value)
    }
    writer.raw(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))
  },
  read: (reader) => new Float32Array(reader.raw(reader.remaining).slice().buffer),
}
