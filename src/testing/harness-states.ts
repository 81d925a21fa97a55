import { ByteWriter } from '../core/byte-writer.ts'
import { WeirError } from '../core/errors.ts'
import { keyGroupOf } from '../core/key-group.ts'
import { kindOf, name, optional, text } from '../core/options/kinds.ts'
import { checkArgument } from '../core/options/shape.ts'
import type { Serializer } from '../core/serializer.ts'
import type { StreamOperator } from '../operators/port/operator.ts'
import type { HasBroadcastStates } from '../operators/process/broadcast-states.ts'
import type { ReadOnlyBroadcastState } from '../operators/process/function.ts'
import type {
  AggregatingStateDescriptor,
  ListStateDescriptor,
  MapStateDescriptor,
  ReducingStateDescriptor,
  StateDescriptor,
  ValueStateDescriptor,
} from '../state/port/descriptors.ts'
import type { KeyedStateBackend } from '../state/port/keyed-state-backend.ts'

/** An operator of a harness, for its state. */
export interface StateHolder {
  readonly uid: string
  readonly operator: StreamOperator
  /** Undefined for an operator without keys. */
  readonly keyed:
    | { readonly state: KeyedStateBackend; readonly serializer: Serializer<unknown> }
    | undefined
  readonly maxParallelism: number
  /** The queryable states that it has declared, by their names for clients. */
  readonly queryable: ReadonlyMap<string, StateDescriptor>
}

const DESCRIPTOR = kindOf<object>(
  "a descriptor of state, such as valueState('last')",
  (given) => typeof (given as { readonly kind?: unknown } | null)?.kind === 'string',
)
const NO_NAMESPACE = new Uint8Array(0)

/**
 * The state of the operators of a harness, for tests to read. A state is found by its descriptor; where several operators
 * have one of the same name, the uid of an operator says which. Throws INVALID_ARGUMENT for a state that no operator has
 * declared, or that several have.
 */
export class HarnessStates {
  private readonly holders: readonly StateHolder[]

  constructor(holders: readonly StateHolder[]) {
    this.holders = holders
  }

  /** What a key has in keyed state: an array of a list, a Map of a map, undefined where it has no value or result. */
  of<T>(descriptor: ValueStateDescriptor<T>, key: unknown, uid?: string): T | undefined
  of<T>(descriptor: ListStateDescriptor<T>, key: unknown, uid?: string): T[]
  of<K, V>(descriptor: MapStateDescriptor<K, V>, key: unknown, uid?: string): Map<K, V>
  of<T>(descriptor: ReducingStateDescriptor<T>, key: unknown, uid?: string): T | undefined
  of<IN, ACC, OUT>(
    descriptor: AggregatingStateDescriptor<IN, ACC, OUT>,
    key: unknown,
    uid?: string,
  ): OUT | undefined
  of(descriptor: object, key: unknown, uid?: string): unknown {
    checkArgument('harness.states.of', 'descriptor', DESCRIPTOR, descriptor)
    checkArgument('harness.states.of', 'uid', optional(text), uid)
    const given = descriptor as StateDescriptor
    const holder = this.only(`the state "${given.name}"`, uid, ({ keyed }) =>
      keyed?.state.declarations().some((declared) => declared.name === given.name),
    )
    return this.read(holder, given, key)
  }

  /** What clients get for a key of queryable state, such as a store of windows: `queryable('counts', ['ann', 0])`. */
  queryable(queryableName: string, key: unknown, uid?: string): unknown {
    checkArgument('harness.states.queryable', 'queryableName', name, queryableName)
    checkArgument('harness.states.queryable', 'uid', optional(text), uid)
    const holder = this.only(`the queryable state "${queryableName}"`, uid, ({ queryable }) =>
      queryable.has(queryableName),
    )
    return this.read(holder, holder.queryable.get(queryableName)!, key)
  }

  /** Broadcast state, as the functions read it. */
  broadcast<K, V>(
    descriptor: MapStateDescriptor<K, V>,
    uid?: string,
  ): ReadOnlyBroadcastState<K, V> {
    checkArgument('harness.states.broadcast', 'descriptor', DESCRIPTOR, descriptor)
    checkArgument('harness.states.broadcast', 'uid', optional(text), uid)
    const holder = this.only(
      'broadcast state',
      uid,
      ({ operator }) => 'broadcastStates' in operator,
    )
    return (holder.operator as StreamOperator & HasBroadcastStates).broadcastStates.reader(
      descriptor,
    )
  }

  private only(
    what: string,
    uid: string | undefined,
    has: (holder: StateHolder) => boolean | undefined,
  ): StateHolder {
    const all = this.holders.filter((holder) => has(holder) === true)
    const found = uid === undefined ? all : all.filter((holder) => holder.uid === uid)
    if (found.length === 1) return found[0]!
    const names = all.map((holder) => `"${holder.uid}"`).join(', ')
    throw new WeirError(
      'INVALID_ARGUMENT',
      all.length === 0
        ? `no operator of the harness has declared ${what}: pass the descriptor of a state that a function declares in open`
        : uid === undefined
          ? `several operators have declared ${what}: pass one of the uids ${names}`
          : `operator "${uid}" has not declared ${what}; ${names} has`,
    )
  }

  private read(
    { keyed, maxParallelism }: StateHolder,
    descriptor: StateDescriptor,
    key: unknown,
  ): unknown {
    const { state, serializer } = keyed!
    const writer = new ByteWriter(64)
    serializer.write(key, writer)
    const bytes = writer.toBytes()
    state.setCurrentKey(bytes, keyGroupOf(bytes, maxParallelism))
    state.setCurrentNamespace(NO_NAMESPACE)
    switch (descriptor.kind) {
      case 'value':
        return state.value(descriptor).value()
      case 'list':
        return state.list(descriptor).get()
      case 'map':
        return new Map(state.map(descriptor).entries())
      case 'reducing':
        return state.reducing(descriptor).get()
      case 'aggregating':
        return state.aggregating(descriptor).get()
      case 'vector':
        throw new WeirError(
          'UNSUPPORTED',
          `"${descriptor.name}" is vector state, whose rows have versions: read it with getVectorState in a function`,
        )
    }
  }
}
