import { ByteReader } from '../../core/byte-reader.ts'
import { WeirError } from '../../core/errors.ts'
import type { Serializer } from '../../core/serializer.ts'
import { bytesOfLatin1, latin1Of } from '../../core/text/latin1.ts'
import { refusePromise } from '../../operators/port/refuse-promise.ts'
import type { Collector, KeyedStateAccess } from '../../operators/process/function.ts'
import { decodeComposite } from '../../state/port/composite-key.ts'
import type {
  AggregatingStateDescriptor,
  ListStateDescriptor,
  MapStateDescriptor,
  ReducingStateDescriptor,
  ValueStateDescriptor,
} from '../../state/port/descriptors.ts'
import type { AppendingState, ListState, MapState, ValueState } from '../../state/port/handles.ts'
import type { KeyedStateBackend } from '../../state/port/keyed-state-backend.ts'
import { requireDescriptor } from './arguments.ts'

/** The context of `open` of a reader: it declares the states that are read, as the job's function declares them. */
export type KeyedStateReaderOpenContext = Omit<KeyedStateAccess, 'getVectorState'>

/** The context of a key that is read. */
export interface KeyedStateReaderContext {
  /** Timestamps of the key's event-time timers, ascending. */
  registeredEventTimeTimers(): readonly number[]
  /** Timestamps of the key's processing-time timers, ascending. */
  registeredProcessingTimeTimers(): readonly number[]
}

/** Reads the keyed state of an operator; its fields hold the handles, which refer to the key that is read. */
export interface KeyedStateReaderFunction<K, OUT> {
  /** Called for each part of the state, before its keys. */
  open(context: KeyedStateReaderOpenContext): void | Promise<void>
  /** Called once for each key that has an entry in a declared state. */
  readKey(key: K, context: KeyedStateReaderContext, out: Collector<OUT>): void
  close?(): void | Promise<void>
}

const TIMESTAMP_BYTES = 8
const EVENT_TIMERS = 'timers:event-timers'
const PROCESSING_TIMERS = 'timers:processing-timers'
const NO_NAMESPACE = new Uint8Array(0)

/** What one key of a part has. */
interface StoredKey {
  readonly keyGroup: number
  /** By the name of its queue. */
  readonly timers: Map<string, number[]>
}

/** Declares the states of a reader, and reads the keys of one part of an operator's state. */
export class KeyedPartReader<K, OUT> implements KeyedStateReaderOpenContext {
  private readonly state: KeyedStateBackend
  private readonly keySerializer: Serializer<K>
  private readonly stored: ReadonlySet<string>
  private readonly declared = new Set<string>()

  /** `stored`: names of the states that the savepoint has. */
  constructor(state: KeyedStateBackend, keySerializer: Serializer<K>, stored: Iterable<string>) {
    this.state = state
    this.keySerializer = keySerializer
    this.stored = new Set(stored)
  }

  getState<T>(descriptor: ValueStateDescriptor<T>): ValueState<T> {
    return this.state.value(this.known(descriptor))
  }

  getListState<T>(descriptor: ListStateDescriptor<T>): ListState<T> {
    return this.state.list(this.known(descriptor))
  }

  getMapState<MK, V>(descriptor: MapStateDescriptor<MK, V>): MapState<MK, V> {
    return this.state.map(this.known(descriptor))
  }

  getReducingState<T>(descriptor: ReducingStateDescriptor<T>): AppendingState<T, T> {
    return this.state.reducing(this.known(descriptor))
  }

  getAggregatingState<IN, ACC, RESULT>(
    descriptor: AggregatingStateDescriptor<IN, ACC, RESULT>,
  ): AppendingState<IN, RESULT> {
    return this.state.aggregating(this.known(descriptor))
  }

  /** Calls the function for each key, and yields what it emits. */
  *read(reader: KeyedStateReaderFunction<K, OUT>): Generator<OUT, void> {
    const results: OUT[] = []
    const out: Collector<OUT> = { collect: (value) => void results.push(value) }
    for (const [text, stored] of this.keys()) {
      const key = bytesOfLatin1(text)
      this.state.setCurrentKey(key, stored.keyGroup)
      this.state.setCurrentNamespace(NO_NAMESPACE)
      const timersOf = (queue: string) => (stored.timers.get(queue) ?? []).sort((a, b) => a - b)
      const result: unknown = reader.readKey(
        this.keySerializer.read(new ByteReader(key)),
        {
          registeredEventTimeTimers: () => timersOf(EVENT_TIMERS),
          registeredProcessingTimeTimers: () => timersOf(PROCESSING_TIMERS),
        },
        out,
      )
      refusePromise(result, 'readKey')
      yield* results.splice(0)
    }
  }

  /** The keys with an entry of a declared state outside windows, with their timers. */
  private keys(): ReadonlyMap<string, StoredKey> {
    const keys = new Map<string, StoredKey>()
    const timers: { readonly queue: string; readonly key: string; readonly at: number }[] = []
    const append = (keyGroup: number, state: string, composite: Uint8Array): void => {
      const isTimer = state === EVENT_TIMERS || state === PROCESSING_TIMERS
      if (!isTimer && !this.declared.has(state)) return
      const parts = decodeComposite(isTimer ? composite.subarray(TIMESTAMP_BYTES) : composite)
      if (parts.namespace.length > 0) return
      const key = latin1Of(parts.key)
      if (isTimer) timers.push({ queue: state, key, at: timestampOf(composite) })
      else if (!keys.has(key)) keys.set(key, { keyGroup, timers: new Map() })
    }
    const snapshot = this.state.snapshot(1, { append }, true)
    while (!snapshot.step(Number.POSITIVE_INFINITY));
    for (const { queue, key, at } of timers) {
      const known = keys.get(key)?.timers
      known?.set(queue, [...(known.get(queue) ?? []), at])
    }
    return keys
  }

  private known<D extends { readonly name: string }>(descriptor: D): D {
    requireDescriptor(descriptor, 'the context of open', "getState(valueState('name'))")
    const { name } = descriptor
    if (!this.stored.has(name)) {
      const states = [...this.stored].filter((state) => !state.startsWith('timers:')).join(', ')
      throw new WeirError(
        'INVALID_ARGUMENT',
        `the operator has no state "${name}" in the savepoint; it has ${states || 'no keyed state'}`,
      )
    }
    this.declared.add(name)
    return descriptor
  }
}

/** Eight bytes, big-endian, the high half biased by 2^21: see `state/timers/queue.ts`. */
function timestampOf(composite: Uint8Array): number {
  const view = new DataView(composite.buffer, composite.byteOffset)
  return (view.getUint32(0) - 2 ** 21) * 2 ** 32 + view.getUint32(4)
}
