import { ByteReader } from '../../core/byte-reader.ts'
import { WeirError } from '../../core/errors.ts'
import type { Serializer } from '../../core/serializer.ts'
import { timestampedSerializer } from '../../operators/windows/evictor.ts'
import { windowOfNamespace } from '../../operators/windows/namespace.ts'
import { SLICED_RECORDS } from '../../operators/windows/sliced-records.ts'
import {
  SlicedRecord,
  slicedRecordSerializer,
  slicesSerializer,
} from '../../operators/windows/slices.ts'
import type { StateDeclaration } from '../../state/port/change.ts'
import { decodeComposite } from '../../state/port/composite-key.ts'
import { listState, valueState } from '../../state/port/descriptors.ts'
import { valuesFormat } from '../../state/port/format.ts'
import type { KeyedStateBackend } from '../../state/port/keyed-state-backend.ts'
import type { OperatorManifest } from '../checkpoint/protocol/checkpoint-types.ts'
import type { CheckpointStorage } from '../checkpoint/storage/checkpoint-storage.ts'
import { type EntryChange, valueChange } from './entry-change.ts'
import { openInMemory, partsOf, restorePart } from './keyed-state.ts'

/** The contents of one open window of a key: its records, or its one accumulator. */
export interface StoredWindow<K, V> {
  readonly key: K
  /** ms. Missing for windows without times. */
  readonly start?: number
  /** ms. Missing for a slice of sliding windows, which is a part of several windows. */
  readonly end?: number
  readonly contents: readonly V[]
}

/** The contents of windows as they are now and as they become. */
export interface WindowChange<A, B> {
  /** Serializer of the accumulators, or of the records of windows that keep them. */
  readonly from: Serializer<A>
  readonly to: Serializer<B>
  readonly change: (contents: A) => B
}

const CONTENTS = 'window-contents'
const SLICES = 'window-slices'
/** How the ids of serializers of records with their timestamps begin. */
const TIMESTAMPED = 'timestamped/'

/** Makes other accumulators, or other records, of those of the open windows of an operator. */
export function windowChange<A, B>(change: WindowChange<A, B>): EntryChange {
  const changesOf = (uid: string, states: readonly StateDeclaration[]): readonly EntryChange[] =>
    contentsOf(uid, states).map((state) => changeOf(state, change))
  return {
    keyFormat: undefined,
    declarations: (uid, before) =>
      changesOf(uid, before).reduce((states, part) => part.declarations(uid, states), before),
    through: (sink, operator) =>
      changesOf(operator.uid, operator.declarations as readonly StateDeclaration[]).reduce(
        (inner, part) => part.through(inner, operator),
        sink,
      ),
  }
}

function changeOf<A, B>(
  { name, kind, format }: StateDeclaration,
  { from, to, change }: WindowChange<A, B>,
): EntryChange {
  if (name === SLICES) {
    const slices = (sums: unknown) =>
      valueState(name, { serializer: slicesSerializer(sums as Serializer<unknown>) })
    return valueChange({
      from: slices(from),
      to: slices(to),
      // Starts and accumulators in turn.
      change: (parts) => parts.map((part, i) => (i % 2 === 0 ? part : change(part as A))),
    })
  }
  if (name.startsWith(SLICED_RECORDS)) {
    return valueChange({
      from: listState(name, { serializer: slicedRecordSerializer(from) }),
      to: listState(name, { serializer: slicedRecordSerializer(to) }),
      change: ({ start, value }) => new SlicedRecord(start, change(value), false),
    })
  }
  if (valuesFormat(format).startsWith(TIMESTAMPED)) {
    return valueChange({
      from: listState(name, { serializer: timestampedSerializer(from) }),
      to: listState(name, { serializer: timestampedSerializer(to) }),
      change: ({ value, timestamp }) => ({ value: change(value), timestamp }),
    })
  }
  return kind === 'list'
    ? valueChange({
        from: listState(name, { serializer: from }),
        to: listState(name, { serializer: to }),
        change,
      })
    : valueChange({
        from: valueState(name, { serializer: from }),
        to: valueState(name, { serializer: to }),
        change,
      })
}

/** How the state of an operator's windows is read. */
export interface WindowReading<K, V> {
  readonly keys: Serializer<K>
  readonly contents: Serializer<V>
}

/** Yields what open windows of an operator hold, in no order. Throws STATE_CONFLICT, INVALID_ARGUMENT. */
export async function* readWindows<K, V>(
  storage: CheckpointStorage,
  operator: OperatorManifest,
  { keys, contents }: WindowReading<K, V>,
): AsyncGenerator<StoredWindow<K, V>, void> {
  const { uid, maxParallelism } = operator
  const states = contentsOf(uid, operator.declarations as readonly StateDeclaration[])
  for (const part of partsOf({ operators: [operator] }, operator)) {
    const state = await openInMemory(uid, part.keyGroups, maxParallelism)
    const readers = new Map<string, () => readonly StoredContents<V>[]>()
    const declare = async (): Promise<void> => {
      for (const stored of states) readers.set(stored.name, readerIn(state, stored, contents))
    }
    try {
      await restorePart(storage, part, { state, declare })
      for (const { name, key, keyGroup, namespace } of placesIn(state, readers)) {
        state.setCurrentKey(key, keyGroup)
        state.setCurrentNamespace(namespace)
        const ofKey = keys.read(new ByteReader(key))
        const window = namespace.length === 0 ? undefined : windowOfNamespace(namespace)
        for (const read of readers.get(name)!()) yield { key: ofKey, ...window, ...read }
      }
    } finally {
      state.close()
    }
  }
}

/** What a state holds for the selected key and window. */
type StoredContents<V> = Pick<StoredWindow<never, V>, 'contents' | 'start'>

function readerIn<V>(
  state: KeyedStateBackend,
  { name, kind, format }: StateDeclaration,
  serializer: Serializer<V>,
): () => readonly StoredContents<V>[] {
  if (name === SLICES) {
    const slices = slicesSerializer(serializer as Serializer<unknown>)
    const handle = state.value(valueState(name, { serializer: slices }))
    return () => {
      const parts = handle.value() ?? []
      return parts.flatMap((start, i) =>
        i % 2 === 0 ? [{ start: start as number, contents: [parts[i + 1] as V] }] : [],
      )
    }
  }
  if (name.startsWith(SLICED_RECORDS)) {
    const sliced = slicedRecordSerializer(serializer)
    const handle = state.list(listState(name, { serializer: sliced }))
    return () => {
      const slices = Map.groupBy(handle.get(), ({ start }) => start)
      return [...slices].map(([start, records]) => {
        return { start, contents: records.map(({ value }) => value) }
      })
    }
  }
  if (kind === 'value') {
    const handle = state.value(valueState(name, { serializer }))
    return () => [{ contents: [handle.value()!] }]
  }
  if (valuesFormat(format).startsWith(TIMESTAMPED)) {
    const timestamped = timestampedSerializer(serializer)
    const handle = state.list(listState(name, { serializer: timestamped }))
    return () => [{ contents: handle.get().map(({ value }) => value) }]
  }
  const handle = state.list(listState(name, { serializer }))
  return () => [{ contents: handle.get() }]
}

/** A key and a namespace under which a state has an entry. */
interface Place {
  readonly name: string
  readonly key: Uint8Array
  readonly keyGroup: number
  readonly namespace: Uint8Array
}

function placesIn(
  state: KeyedStateBackend,
  names: { has(name: string): boolean },
): readonly Place[] {
  const places: Place[] = []
  const append = (keyGroup: number, name: string, composite: Uint8Array): void => {
    if (!names.has(name)) return
    const { key, namespace, mapKey } = decodeComposite(composite)
    // The chunks of a long list are read with it.
    if (mapKey.length === 0) places.push({ name, key, keyGroup, namespace })
  }
  const snapshot = state.snapshot(1, { append }, true)
  while (!snapshot.step(Number.POSITIVE_INFINITY));
  return places
}

/** The states that hold the contents of windows. Throws INVALID_ARGUMENT where there is none. */
function contentsOf(uid: string, states: readonly StateDeclaration[]): readonly StateDeclaration[] {
  const contents = states.filter(({ name }) => {
    return name === CONTENTS || name === SLICES || name.startsWith(SLICED_RECORDS)
  })
  if (contents.length > 0) return contents
  throw new WeirError('INVALID_ARGUMENT', `operator "${uid}" has no windows in the savepoint`)
}
