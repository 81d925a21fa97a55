import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import { WeirError } from '../../core/errors.ts'
import { readerOf, type Serializer, type ValueReader } from '../../core/serializer.ts'
import type { MapStateDescriptor } from '../../state/port/descriptors.ts'
import { HOW_TO_MIGRATE } from '../../state/port/format.ts'
import type { OperatorStateStore } from '../port/operator-state.ts'
import type { BroadcastState, ReadOnlyBroadcastState } from './function.ts'

/*
 * Broadcast state: maps that every subtask fills alike from the broadcast stream, stored as operator
 * state `broadcast`. One entry of it, version 2:
 *
 *   | 02 | name: varuint length, UTF-8 | key serializer, value serializer: ids, varuint length, UTF-8
 *        | key: varuint length, bytes | value: varuint length, bytes |
 *
 * Entries of version 1 have no ids.
 */

const STATE_NAME = 'broadcast'
const ENTRY_VERSION = 2

/** Entries by the text of the key's bytes, one character per byte, so that equal keys have one entry. */
type Entries<K, V> = Map<string, readonly [K, V]>

class BroadcastMapReader<K, V> implements ReadOnlyBroadcastState<K, V> {
  protected readonly map: Entries<K, V>
  private readonly keySerializer: Serializer<K>
  private readonly scratch = new ByteWriter(64)

  constructor(map: Entries<K, V>, keySerializer: Serializer<K>) {
    this.map = map
    this.keySerializer = keySerializer
  }

  get size(): number {
    return this.map.size
  }

  get(key: K): V | undefined {
    return this.map.get(this.textOf(key))?.[1]
  }

  has(key: K): boolean {
    return this.map.has(this.textOf(key))
  }

  *entries(): IterableIterator<[K, V]> {
    for (const [key, value] of this.map.values()) yield [key, value]
  }

  *keys(): IterableIterator<K> {
    for (const [key] of this.map.values()) yield key
  }

  *values(): IterableIterator<V> {
    for (const [, value] of this.map.values()) yield value
  }

  isEmpty(): boolean {
    return this.map.size === 0
  }

  protected textOf(key: K): string {
    const { scratch } = this
    scratch.reset()
    this.keySerializer.write(key, scratch)
    let text = ''
    for (let i = 0; i < scratch.length; i++) text += String.fromCharCode(scratch.bytes[i]!)
    return text
  }
}

class BroadcastMapWriter<K, V> extends BroadcastMapReader<K, V> implements BroadcastState<K, V> {
  /** Whether the map differs from its last stored state. */
  changed = false

  put(key: K, value: V): void {
    this.map.set(this.textOf(key), [key, value])
    this.changed = true
  }

  remove(key: K): void {
    this.changed = this.map.delete(this.textOf(key)) || this.changed
  }

  clear(): void {
    this.map.clear()
    this.changed = true
  }
}

/** One declared map. */
interface Declared {
  readonly descriptor: MapStateDescriptor<unknown, unknown>
  readonly reader: BroadcastMapReader<unknown, unknown>
  readonly writer: BroadcastMapWriter<unknown, unknown>
}

/** What has broadcast state: the operators of functions with a broadcast stream. */
export interface HasBroadcastStates {
  readonly broadcastStates: BroadcastStates
}

/** The broadcast maps of one subtask. */
export class BroadcastStates {
  private readonly operatorName: string
  private readonly declared = new Map<string, Declared>()
  private readonly store: OperatorStateStore

  /** Creates the declared maps and fills them with their restored entries. */
  constructor(
    operatorName: string,
    descriptors: readonly MapStateDescriptor<unknown, unknown>[],
    store: OperatorStateStore,
  ) {
    this.operatorName = operatorName
    this.store = store
    for (const descriptor of descriptors) {
      const map: Entries<unknown, unknown> = new Map()
      const reader = new BroadcastMapReader(map, descriptor.keySerializer)
      const writer = new BroadcastMapWriter(map, descriptor.keySerializer)
      this.declared.set(descriptor.name, { descriptor, reader, writer })
    }
    for (const entry of store.restored(STATE_NAME)) this.restore(entry)
  }

  /** The read-only view of a map. Throws INVALID_GRAPH unless the map is declared with this format. */
  reader<K, V>(descriptor: MapStateDescriptor<K, V>): ReadOnlyBroadcastState<K, V> {
    return this.find(descriptor).reader as unknown as ReadOnlyBroadcastState<K, V>
  }

  /** The writable view of a map. Throws INVALID_GRAPH unless the map is declared with this format. */
  writer<K, V>(descriptor: MapStateDescriptor<K, V>): BroadcastState<K, V> {
    return this.find(descriptor).writer as unknown as BroadcastState<K, V>
  }

  /** Writes all entries to the operator state, if any changed since the last call. */
  save(): void {
    const all = [...this.declared.values()]
    if (!all.some(({ writer }) => writer.changed)) return
    const entries = all.flatMap(({ descriptor, reader }) =>
      [...reader.entries()].map(([key, value]) => encodeEntry(descriptor, key, value)),
    )
    this.store.update(STATE_NAME, 'broadcast', entries)
    for (const { writer } of all) writer.changed = false
  }

  private find<K, V>(descriptor: MapStateDescriptor<K, V>): Declared {
    const found = this.declared.get(descriptor.name)
    if (found === undefined) {
      const known = [...this.declared.keys()].map((name) => `"${name}"`).join(', ')
      this.refuse(
        descriptor.name,
        `broadcast(...) declares only ${known}: add its descriptor there`,
      )
    }
    if (
      found.descriptor.keySerializer.id !== descriptor.keySerializer.id ||
      found.descriptor.serializer.id !== descriptor.serializer.id
    ) {
      this.refuse(
        descriptor.name,
        'broadcast(...) declares it with other serializers: use one descriptor object in both places',
      )
    }
    return found
  }

  private refuse(name: string, reason: string): never {
    throw new WeirError(
      'INVALID_GRAPH',
      `operator "${this.operatorName}" asks for broadcast state "${name}", but ${reason}`,
    )
  }

  private restore(entry: Uint8Array): void {
    const reader = new ByteReader(entry)
    const version = reader.uint8()
    if (version !== 1 && version !== ENTRY_VERSION) {
      throw new WeirError(
        'UNSUPPORTED_VERSION',
        `broadcast state of operator "${this.operatorName}" has version ${version}, this build reads 1 and ${ENTRY_VERSION}`,
      )
    }
    const name = reader.text()
    const found = this.declared.get(name)
    if (found === undefined) {
      this.store.leaveOver(name, entry.length)
      return
    }
    const { keySerializer, serializer } = found.descriptor
    const readKey = version === 1 ? keySerializer.read : this.readerOf(name, keySerializer, reader)
    const readValue = version === 1 ? serializer.read : this.readerOf(name, serializer, reader)
    const key = readKey(new ByteReader(reader.sized()))
    found.writer.put(key, readValue(new ByteReader(reader.sized())))
  }

  /** The reader of what the serializer wrote whose id comes next. Throws STATE_CONFLICT. */
  private readerOf<T>(name: string, serializer: Serializer<T>, reader: ByteReader): ValueReader<T> {
    const id = reader.text()
    const read = readerOf(serializer, id)
    if (typeof read !== 'string') return read
    throw new WeirError(
      'STATE_CONFLICT',
      `broadcast state "${name}" of operator "${this.operatorName}" has ${id} in the checkpoint and ${serializer.id} in the job: ${read}; ${HOW_TO_MIGRATE}`,
    )
  }
}

function encodeEntry<K, V>(descriptor: MapStateDescriptor<K, V>, key: K, value: V): Uint8Array {
  const part = new ByteWriter(64)
  const entry = new ByteWriter(128)
  entry.uint8(ENTRY_VERSION)
  entry.text(descriptor.name)
  entry.text(descriptor.keySerializer.id)
  entry.text(descriptor.serializer.id)
  descriptor.keySerializer.write(key, part)
  entry.sized(part.bytes.subarray(0, part.length))
  part.reset()
  descriptor.serializer.write(value, part)
  entry.sized(part.bytes.subarray(0, part.length))
  return entry.toBytes()
}
