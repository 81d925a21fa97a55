import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import { WeirError } from '../../core/errors.ts'
import { readerOf, type Serializer } from '../../core/serializer.ts'
import type { ListStateDescriptor } from '../../state/port/descriptors.ts'
import { HOW_TO_MIGRATE } from '../../state/port/format.ts'
import type { ListState } from '../../state/port/handles.ts'
import type { OperatorStateStore, Redistribution } from '../port/operator-state.ts'
import type { FunctionInitializationContext } from './function-life.ts'

/** Names of a function's lists in operator state begin so, apart from those of the operator itself. */
const PREFIX = 'function/'

/** One list in the memory of its subtask. Its values are those that the function gave, not copies. */
class MemoryList<T> implements ListState<T> {
  private values: T[]

  constructor(values: readonly T[]) {
    this.values = [...values]
  }

  get(): T[] {
    return [...this.values]
  }

  add(value: T): void {
    this.values.push(value)
  }

  addAll(values: readonly T[]): void {
    for (const value of values) this.values.push(value)
  }

  update(values: readonly T[]): void {
    this.values = [...values]
  }

  clear(): void {
    this.values = []
  }
}

/** The lists of one function that belong to its subtask and not to a key. */
export class ListStates implements FunctionInitializationContext {
  private readonly store: OperatorStateStore
  private readonly declared = new Map<string, () => void>()

  constructor(store: OperatorStateStore) {
    this.store = store
  }

  get isRestored(): boolean {
    return this.store.isRestored
  }

  getListState<T>(descriptor: ListStateDescriptor<T>): ListState<T> {
    return this.addList(descriptor, 'split')
  }

  getUnionListState<T>(descriptor: ListStateDescriptor<T>): ListState<T> {
    return this.addList(descriptor, 'union')
  }

  /** Encodes all lists into operator state. */
  save(): void {
    for (const save of this.declared.values()) save()
  }

  private addList<T>(
    { name, serializer }: ListStateDescriptor<T>,
    redistribution: Redistribution,
  ): ListState<T> {
    if (this.declared.has(name)) throw conflict(name, 'the function declares it twice')
    const entries = this.store.restored(PREFIX + name)
    const list = new MemoryList(entries.map((entry) => decode(entry, name, serializer)))
    this.declared.set(name, () => {
      const values = list.get().map((value) => encode(value, serializer))
      this.store.update(PREFIX + name, redistribution, values)
    })
    return list
  }
}

/*
 * One entry of a list as operator state `function/<name>`, version 1:
 *
 *   | 01 | serializer id: text | the serializer's bytes ... |
 */
const ENTRY_VERSION = 1

function encode<T>(value: T, serializer: Serializer<T>): Uint8Array {
  const writer = new ByteWriter(64)
  writer.uint8(ENTRY_VERSION)
  writer.text(serializer.id)
  serializer.write(value, writer)
  return writer.toBytes()
}

function decode<T>(entry: Uint8Array, name: string, serializer: Serializer<T>): T {
  const reader = new ByteReader(entry)
  const version = reader.uint8()
  if (version !== ENTRY_VERSION) {
    throw new WeirError(
      'UNSUPPORTED_VERSION',
      `an entry of list "${name}" has version ${version}, this build reads ${ENTRY_VERSION}`,
    )
  }
  const id = reader.text()
  const read = readerOf(serializer, id)
  if (typeof read === 'string') {
    const forms = `list (${id}) in the checkpoint and list (${serializer.id}) in the job`
    throw conflict(name, `it is ${forms}: ${read}; ${HOW_TO_MIGRATE}`)
  }
  return read(new ByteReader(reader.raw(reader.remaining)))
}

function conflict(name: string, reason: string): WeirError {
  return new WeirError('STATE_CONFLICT', `list "${name}" of a function: ${reason}`)
}
