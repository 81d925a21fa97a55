import type { ByteWriter } from '../../core/byte-writer.ts'
import { requireArgument } from '../../core/errors.ts'
import { msgpackSerializer } from '../../core/formats/msgpack-serializer.ts'
import {
  aFunction,
  name as aName,
  flag,
  objectWith,
  oneOf,
  positiveMilliseconds,
  required,
  text,
  wholeNumber,
} from '../../core/options/kinds.ts'
import { serializer } from '../../core/options/ports.ts'
import { checkArgument, checkOptions, nested, type OptionShape } from '../../core/options/shape.ts'
import type { Serializer } from '../../core/serializer.ts'
import { refuseArgument } from '../../core/text/refuse-argument.ts'

/** How long an entry lives after its last write (or read). */
export interface TtlOptions {
  /** Milliseconds of processing time until an entry expires. */
  readonly ttlMs: number
  /** Operations that renew an entry. @default 'write' */
  readonly renewOn?: 'write' | 'read-and-write'
  /** Of lists: whether each element expires for itself, that long after it was added; reads renew none. @default false */
  readonly perElement?: boolean
}

/** Fields of every state descriptor. */
interface DescriptorBase {
  /** Name within the operator; state is matched by it on restore. */
  readonly name: string
  /** Name under which clients query it; not queryable when missing. */
  readonly queryableName?: string
  /** What its keys are for clients, where the operator makes them. */
  readonly queryableKeys?: QueryableKeys
  readonly ttl?: TtlOptions
}

/** What queries get of a value in place of its bytes, made at the time of the query. */
export interface QueryView<T> {
  /** Appends the answer, as MessagePack. The value belongs to the state: it may neither be changed nor kept. */
  write(value: T, nowMs: number, writer: ByteWriter): void
}
/** Keys of windows: the start of the window, or a tuple of a key and the start. */
export type QueryableKeys = 'window' | 'key-and-window'

/** One value per key. */
export interface ValueStateDescriptor<T> extends DescriptorBase {
  readonly kind: 'value'
  readonly serializer: Serializer<T>
  /** For operators alone. @default queries get the bytes of the serializer */
  readonly queryView?: QueryView<T>
}

/** A list per key. */
export interface ListStateDescriptor<T> extends DescriptorBase {
  readonly kind: 'list'
  readonly serializer: Serializer<T>
}

/** A map per key; iterates in the order of the map keys' bytes. */
export interface MapStateDescriptor<K, V> extends DescriptorBase {
  readonly kind: 'map'
  readonly keySerializer: Serializer<K>
  readonly serializer: Serializer<V>
}

/** One value per key into which each added value is reduced. */
export interface ReducingStateDescriptor<T> extends DescriptorBase {
  readonly kind: 'reducing'
  readonly serializer: Serializer<T>
  readonly reduce: (a: T, b: T) => T
}

/** An accumulator per key, in the sense of Flink's AggregateFunction. */
export interface AggregateFunction<IN, ACC, OUT> {
  createAccumulator(): ACC
  add(value: IN, accumulator: ACC): ACC
  getResult(accumulator: ACC): OUT
  merge(a: ACC, b: ACC): ACC
}

/** One accumulator per key; `get` returns its result. */
export interface AggregatingStateDescriptor<IN, ACC, OUT> extends DescriptorBase {
  readonly kind: 'aggregating'
  /** Serializer of the accumulator. */
  readonly serializer: Serializer<ACC>
  readonly aggregate: AggregateFunction<IN, ACC, OUT>
}

/** Fixed-width float32 rows in shared memory, by model version and key. */
export interface VectorStateDescriptor extends DescriptorBase {
  readonly kind: 'vector'
  /** Floats per row, 1 <= dimension <= 65536. */
  readonly dimension: number
  /**
   * Whether a version may have rows of another dimension, which `openVersion` gives it; `dimension` is that of the
   * others. A checkpoint holds the dimension of each version.
   */
  readonly dimensionByVersion?: boolean
  /**
   * Whether the rows of the next records are loaded into the processor's cache before they are processed. Give false for
   * a state that few records read: their rows would take the place of others. @default true
   */
  readonly isReadAhead?: boolean
  /** Whether all rows stay in memory, however little of it the others leave, so that a scan can read them. @default false */
  readonly isResident?: boolean
  /**
   * Which keys of the queryable name this state holds: those that end in the suffix. Two vector
   * states may share a queryable name when their suffixes differ (`-U` and `-I` of `ALS_MODEL`).
   * @default '' (all keys)
   */
  readonly keySuffix?: string
  /** Longest key in bytes that a row can have, 1 to 1024. Every row takes as much memory. @default 64 */
  readonly maxKeyBytes?: number
  /**
   * Key that answers with the mean of all rows of the version, kept up to date with every change
   * (`MEAN-U`). No mean is kept when missing.
   */
  readonly meanKey?: string
}

/** A descriptor of any state but a vector state. */
export type TypedStateDescriptor =
  | ValueStateDescriptor<unknown>
  | ListStateDescriptor<unknown>
  | MapStateDescriptor<unknown, unknown>
  | ReducingStateDescriptor<unknown>
  | AggregatingStateDescriptor<unknown, unknown, unknown>

/** Any state descriptor. */
export type StateDescriptor = TypedStateDescriptor | VectorStateDescriptor

/** Options of `vectorState`. */
export type VectorStateOptions = Omit<VectorStateDescriptor, 'kind' | 'name' | 'queryableKeys'>

/** Options of `mapState`. */
export interface MapStateOptions<K, V> extends StateOptions<V> {
  /** @default MessagePack */
  readonly keySerializer?: Serializer<K>
}

/** Options shared by the descriptor functions below. */
export interface StateOptions<T> {
  /** @default MessagePack */
  readonly serializer?: Serializer<T>
  readonly queryableName?: string
  readonly ttl?: TtlOptions
}

const TTL: OptionShape<TtlOptions> = {
  ttlMs: required(positiveMilliseconds),
  renewOn: oneOf('write', 'read-and-write'),
  perElement: flag,
}
const BASE = { queryableName: aName, ttl: nested(TTL) }
const STATE: OptionShape<StateOptions<unknown>> = { ...BASE, serializer: serializer<unknown>() }
const AGGREGATE = objectWith<unknown>(
  'an object with createAccumulator, add, getResult and merge',
  'createAccumulator',
  'add',
  'getResult',
  'merge',
)
const MAP_STATE: OptionShape<MapStateOptions<unknown, unknown>> = {
  ...STATE,
  keySerializer: serializer<unknown>(),
}
const VECTOR_STATE: OptionShape<VectorStateOptions> = {
  ...BASE,
  dimension: required(wholeNumber({ min: 1, max: 65_536 })),
  dimensionByVersion: flag,
  isReadAhead: flag,
  isResident: flag,
  keySuffix: text,
  maxKeyBytes: wholeNumber({ min: 1, max: 1024 }),
  meanKey: aName,
}

function baseOf<O>(
  call: string,
  stateName: string,
  shape: OptionShape<O>,
  options: O & { readonly queryableName?: string; readonly ttl?: TtlOptions },
): DescriptorBase {
  checkArgument(call, 'name', aName, stateName)
  checkOptions(call, shape, options)
  if (options.ttl?.perElement === true) requirePerElement(call, options)
  return {
    name: stateName,
    ...(options.queryableName === undefined ? {} : { queryableName: options.queryableName }),
    ...(options.ttl === undefined ? {} : { ttl: options.ttl }),
  }
}

/** Throws INVALID_ARGUMENT for a time to live of elements where there are none, or where reads would look at them all. */
function requirePerElement(
  call: string,
  { queryableName, ttl }: { readonly queryableName?: string; readonly ttl?: TtlOptions },
): void {
  const problem =
    call !== 'listState'
      ? 'belongs to listState: the entries of a map expire one by one without it'
      : ttl?.renewOn === 'read-and-write'
        ? "has no renewOn: 'read-and-write': leave it out, or leave perElement out"
        : queryableName === undefined
          ? undefined
          : 'cannot be queried by clients: leave queryableName out, or leave perElement out'
  requireArgument(problem === undefined, `${call}(...): ttl.perElement ${problem}`)
}

/** Declares a value per key. */
export function valueState<T>(
  name: string,
  options: StateOptions<T> = {},
): ValueStateDescriptor<T> {
  const base = baseOf('valueState', name, STATE, options)
  return { kind: 'value', serializer: options.serializer ?? msgpackSerializer<T>(), ...base }
}

/** Declares a list per key. */
export function listState<T>(name: string, options: StateOptions<T> = {}): ListStateDescriptor<T> {
  const base = baseOf('listState', name, STATE, options)
  return { kind: 'list', serializer: options.serializer ?? msgpackSerializer<T>(), ...base }
}

/** Declares a map per key. */
export function mapState<K, V>(
  name: string,
  options: MapStateOptions<K, V> = {},
): MapStateDescriptor<K, V> {
  const base = baseOf('mapState', name, MAP_STATE, options)
  return {
    kind: 'map',
    keySerializer: options.keySerializer ?? msgpackSerializer<K>(),
    serializer: options.serializer ?? msgpackSerializer<V>(),
    ...base,
  }
}

/** Declares a value per key that added values are reduced into. */
export function reducingState<T>(
  name: string,
  reduce: (a: T, b: T) => T,
  options: StateOptions<T> = {},
): ReducingStateDescriptor<T> {
  const base = baseOf('reducingState', name, STATE, options)
  checkArgument('reducingState', 'reduce', aFunction(), reduce)
  return {
    kind: 'reducing',
    serializer: options.serializer ?? msgpackSerializer<T>(),
    reduce,
    ...base,
  }
}

/** Declares an accumulator per key. */
export function aggregatingState<IN, ACC, OUT>(
  name: string,
  aggregate: AggregateFunction<IN, ACC, OUT>,
  options: StateOptions<ACC> = {},
): AggregatingStateDescriptor<IN, ACC, OUT> {
  const base = baseOf('aggregatingState', name, STATE, options)
  checkArgument('aggregatingState', 'aggregate', AGGREGATE, aggregate)
  return {
    kind: 'aggregating',
    serializer: options.serializer ?? msgpackSerializer<ACC>(),
    aggregate,
    ...base,
  }
}

/** Declares float32 rows in shared memory. */
export function vectorState(name: string, options: VectorStateOptions): VectorStateDescriptor {
  checkArgument('vectorState', 'name', aName, name)
  checkOptions('vectorState', VECTOR_STATE, options)
  return { kind: 'vector', name, ...options }
}

/** Throws INVALID_ARGUMENT for what is no descriptor of the kind, such as the name of a state alone. */
export function requireKind(given: unknown, kind: string, call: string): void {
  if ((given as { readonly kind?: unknown } | null | undefined)?.kind === kind) return
  refuseArgument(`${call}(...)`, given, `a descriptor: ${call}(${kind}State('name'))`)
}
