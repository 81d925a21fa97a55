import { WeirError } from '../../core/errors.ts'
import { msgpackSerializer } from '../../core/formats/msgpack-serializer.ts'
import { type PlainKey, plainKeySerializer } from '../../core/formats/plain-key-serializer.ts'
import { optional } from '../../core/options/kinds.ts'
import { serializer as serializerKind } from '../../core/options/ports.ts'
import { checkArgument, checkOptions, type OptionShape } from '../../core/options/shape.ts'
import type { Serializer } from '../../core/serializer.ts'
import { BroadcastStates } from '../../operators/process/broadcast-states.ts'
import { ListStates } from '../../operators/process/list-states.ts'
import type { ListStateDescriptor, MapStateDescriptor } from '../../state/port/descriptors.ts'
import { readManifest } from '../checkpoint/manifest/read.ts'
import type {
  CheckpointManifest,
  OperatorManifest,
} from '../checkpoint/protocol/checkpoint-types.ts'
import { planRestore } from '../checkpoint/protocol/restore-plan.ts'
import type { CheckpointStorage } from '../checkpoint/storage/checkpoint-storage.ts'
import { OperatorStateMemory } from '../subtask/operator-state-memory.ts'
import {
  madeObject,
  requireDescriptor,
  requireFactory,
  requirePath,
  requireUid,
} from './arguments.ts'
import { KeyedPartReader, type KeyedStateReaderFunction } from './keyed-reader.ts'
import { openInMemory, partsOf, restorePart } from './keyed-state.ts'
import { openPlace, PLACE, type SavepointPlace, type SavepointPlaceOptions } from './place.ts'
import { readWindows, type StoredWindow } from './window-state.ts'

const READ_KEYED = 'readKeyedState(...)'
const READ_KEYED_EXAMPLE =
  'readKeyedState(uid, () => ({ open(...) { ... }, readKey(...) { ... } }))'

/** How the contents of windows are encoded. */
const WINDOW_FORMATS: OptionShape<{
  readonly contents?: Serializer<unknown>
  readonly keys?: Serializer<unknown>
}> = {
  contents: serializerKind(),
  keys: serializerKind(),
}

/** An operator of a savepoint. */
export interface SavepointOperator {
  readonly uid: string
  readonly parallelism: number
  readonly maxParallelism: number
  /** Its keyed states: name, kind, and format of the values. */
  readonly states: OperatorManifest['declarations']
}

/**
 * Reads the state of a savepoint, or of a retained checkpoint, by operator uid: Flink's `SavepointReader`. Close it
 * with `close` or `await using`.
 */
export class SavepointReader implements AsyncDisposable {
  private readonly place: SavepointPlace
  /** For `SavepointWriter`. */
  readonly manifest: CheckpointManifest

  /**
   * Opens a savepoint by its path or URL. Throws INVALID_ARGUMENT, CHECKPOINT_NOT_FOUND, CHECKSUM_MISMATCH,
   * MALFORMED_DATA.
   */
  static async read(path: string, options: SavepointPlaceOptions = {}): Promise<SavepointReader> {
    requirePath(path, 'SavepointReader.read(...)')
    checkOptions('SavepointReader.read', PLACE, options)
    const place = await openPlace(path, options)
    try {
      return new SavepointReader(place, await readManifest(place.storage, place.folder))
    } catch (error) {
      await place[Symbol.asyncDispose]()
      throw error
    }
  }

  private constructor(place: SavepointPlace, manifest: CheckpointManifest) {
    this.place = place
    this.manifest = manifest
  }

  /** For `SavepointWriter`. */
  get storage(): CheckpointStorage {
    return this.place.storage
  }

  /** The operators that have state, by uid. */
  get operators(): readonly SavepointOperator[] {
    return this.manifest.operators.map(({ uid, parallelism, maxParallelism, declarations }) => ({
      uid,
      parallelism,
      maxParallelism,
      states: declarations.filter(({ kind }) => kind !== 'timers'),
    }))
  }

  /**
   * Yields what a function reads from the keyed state of an operator, outside windows. `create` makes a function
   * for each part of the state, which is read into memory part by part. `serializer` is that of `keyBy`. Throws
   * INVALID_ARGUMENT for an operator or a state that the savepoint does not have and for what is no factory,
   * STATE_CONFLICT for a state of another kind or serializer.
   */
  readKeyedState<K extends PlainKey, OUT>(
    uid: string,
    create: () => KeyedStateReaderFunction<K, OUT>,
    serializer?: Serializer<K>,
  ): AsyncGenerator<OUT, void>
  readKeyedState<K, OUT>(
    uid: string,
    create: () => KeyedStateReaderFunction<K, OUT>,
    serializer: Serializer<K>,
  ): AsyncGenerator<OUT, void>
  async *readKeyedState<K, OUT>(
    uid: string,
    create: () => KeyedStateReaderFunction<K, OUT>,
    serializer?: Serializer<K>,
  ): AsyncGenerator<OUT, void> {
    requireFactory(create, READ_KEYED, READ_KEYED_EXAMPLE)
    checkArgument('readKeyedState', 'serializer', optional(serializerKind()), serializer)
    const operator = this.operatorOf(uid)
    const keys = serializer ?? (plainKeySerializer() as Serializer<unknown> as Serializer<K>)
    for (const part of partsOf(this.manifest, operator)) {
      const state = await openInMemory(uid, part.keyGroups, operator.maxParallelism)
      try {
        const names = operator.declarations.map(({ name }) => name)
        const reader = new KeyedPartReader<K, OUT>(state, keys, names)
        const reading = madeObject(create(), READ_KEYED, ['open', 'readKey'])
        const declare = async (): Promise<void> => await reading.open(reader)
        await restorePart(this.place.storage, part, { state, declare })
        yield* reader.read(reading)
        await reading.close?.()
      } finally {
        state.close()
      }
    }
  }

  /**
   * Yields what the open windows of an operator hold, in no order. `contents` is the serializer of their accumulators, or
   * of the records of windows that keep them; `keys` that of `keyBy`. Throws INVALID_ARGUMENT for an operator without
   * windows, STATE_CONFLICT for another serializer.
   */
  async *readWindows<V, K = PlainKey>(
    uid: string,
    formats: { readonly contents?: Serializer<V>; readonly keys?: Serializer<K> } = {},
  ): AsyncGenerator<StoredWindow<K, V>, void> {
    checkOptions('readWindows', WINDOW_FORMATS, formats)
    const { contents, keys } = formats
    yield* readWindows(this.place.storage, this.operatorOf(uid), {
      contents: contents ?? msgpackSerializer<V>(),
      keys: keys ?? (plainKeySerializer() as Serializer<unknown> as Serializer<K>),
    })
  }

  /**
   * The entries that the subtasks of an operator have in a list of `getListState` of `initializeState`. Throws
   * INVALID_ARGUMENT, STATE_CONFLICT as `readKeyedState`.
   */
  readListState<T>(uid: string, descriptor: ListStateDescriptor<T>): T[] {
    requireDescriptor(descriptor, 'readListState(...)', "listState('name')")
    return new ListStates(this.operatorStateOf(uid, `function/${descriptor.name}`))
      .getListState(descriptor)
      .get()
  }

  /** The entries that the subtasks of an operator have in a list of `getUnionListState`. Throws as `readListState`. */
  readUnionState<T>(uid: string, descriptor: ListStateDescriptor<T>): T[] {
    requireDescriptor(descriptor, 'readUnionState(...)', "listState('name')")
    return this.readListState(uid, descriptor)
  }

  /** The entries of a map of broadcast state, in the order of their first insertion. Throws as `readListState`. */
  readBroadcastState<K, V>(uid: string, descriptor: MapStateDescriptor<K, V>): [K, V][] {
    requireDescriptor(descriptor, 'readBroadcastState(...)', "mapState('name')")
    const store = this.operatorStateOf(uid, 'broadcast')
    const declared = descriptor as MapStateDescriptor<unknown, unknown>
    return [...new BroadcastStates(uid, [declared], store).reader(descriptor).entries()]
  }

  /** The stored operator. Throws INVALID_ARGUMENT. */
  operatorOf(uid: string): OperatorManifest {
    requireUid(uid, 'SavepointReader')
    const operator = this.manifest.operators.find((candidate) => candidate.uid === uid)
    if (operator !== undefined) return operator
    const known = this.manifest.operators.map((candidate) => candidate.uid).join(', ')
    throw new WeirError(
      'INVALID_ARGUMENT',
      `the savepoint has no operator "${uid}"; it has ${known || 'none'}`,
    )
  }

  /** Releases the storage. */
  async close(): Promise<void> {
    await this.place[Symbol.asyncDispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** The state without keys of all subtasks of an operator, as one subtask would restore it. */
  private operatorStateOf(uid: string, name: string): OperatorStateMemory {
    const { maxParallelism, operatorState } = this.operatorOf(uid)
    const names = new Set(operatorState.flatMap((states) => states.map((state) => state.name)))
    if (!names.has(name)) {
      throw new WeirError(
        'INVALID_ARGUMENT',
        `operator "${uid}" has no state "${name}" in the savepoint; it has ${[...names].join(', ') || 'none without keys'}`,
      )
    }
    const plan = planRestore(this.manifest, [{ uid, parallelism: 1, maxParallelism }], {
      allowNonRestoredState: true,
    })
    return new OperatorStateMemory(plan.get(uid)![0]!.operatorState)
  }
}
