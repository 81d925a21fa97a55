import type {
  AggregatingStateDescriptor,
  ListStateDescriptor,
  MapStateDescriptor,
  ReducingStateDescriptor,
  ValueStateDescriptor,
} from '../../state/port/descriptors.ts'
import type { AppendingState, ListState, MapState, ValueState } from '../../state/port/handles.ts'
import type { KeyedState } from '../../state/port/keyed-state.ts'
import type { KeyedStateAccess } from '../process/function.ts'
import { NO_NAMESPACE } from './namespace.ts'

/** Handles to state of a window of the current key, or of the key itself. */
export type NamespacedStateAccess = Omit<KeyedStateAccess, 'getVectorState'>

/** A list or reducing state: what the states of windows that become one can be merged into. */
export type MergingStateDescriptor<T> = ListStateDescriptor<T> | ReducingStateDescriptor<T>

/**
 * State with names of its own under a namespace that the operator sets. A handle selects the namespace before
 * each use, so that functions may hold handles of several namespaces.
 */
export class NamespacedState implements NamespacedStateAccess {
  /** Namespace that all handles refer to. */
  namespace: Uint8Array = NO_NAMESPACE
  protected readonly keyedState: KeyedState
  private readonly prefix: string
  private readonly handles = new WeakMap<object, unknown>()

  /** `prefix` sets the names of these states apart from others of the operator. */
  constructor(keyedState: KeyedState, prefix: string) {
    this.keyedState = keyedState
    this.prefix = prefix
  }

  getState<T>(descriptor: ValueStateDescriptor<T>): ValueState<T> {
    return this.handle(descriptor, (named) => {
      const at = this.selecting(this.keyedState.value(named))
      return {
        value: () => at().value(),
        update: (value: T) => at().update(value),
        clear: () => at().clear(),
      }
    })
  }

  getListState<T>(descriptor: ListStateDescriptor<T>): ListState<T> {
    return this.handle(descriptor, (named) => {
      const at = this.selecting(this.keyedState.list(named))
      return {
        get: () => at().get(),
        add: (value: T) => at().add(value),
        addAll: (values: readonly T[]) => at().addAll(values),
        update: (values: readonly T[]) => at().update(values),
        clear: () => at().clear(),
      }
    })
  }

  getMapState<K, V>(descriptor: MapStateDescriptor<K, V>): MapState<K, V> {
    return this.handle(descriptor, (named) => {
      const at = this.selecting(this.keyedState.map(named))
      return {
        get: (key: K) => at().get(key),
        put: (key: K, value: V) => at().put(key, value),
        putAll: (entries: Iterable<readonly [K, V]>) => {
          for (const [key, value] of entries) at().put(key, value)
        },
        remove: (key: K) => at().remove(key),
        has: (key: K) => at().has(key),
        entries: () => [...at().entries()].values(),
        keys: () => [...at().keys()].values(),
        values: () => [...at().values()].values(),
        isEmpty: () => at().isEmpty(),
        clear: () => at().clear(),
      }
    })
  }

  getReducingState<T>(descriptor: ReducingStateDescriptor<T>): AppendingState<T, T> {
    return this.handle(descriptor, (named) => this.appending(this.keyedState.reducing(named)))
  }

  getAggregatingState<IN, ACC, OUT>(
    descriptor: AggregatingStateDescriptor<IN, ACC, OUT>,
  ): AppendingState<IN, OUT> {
    return this.handle(descriptor, (named) => this.appending(this.keyedState.aggregating(named)))
  }

  /** Moves a state of the namespaces `from` to the current one, which may have a state already. */
  merge<T>(descriptor: MergingStateDescriptor<T>, from: readonly Uint8Array[]): void {
    const state =
      descriptor.kind === 'list' ? this.getListState(descriptor) : this.getReducingState(descriptor)
    const into = this.namespace
    const moved: T[] = []
    for (const namespace of from) {
      this.namespace = namespace
      const held = state.get()
      if (descriptor.kind === 'list') for (const value of held as T[]) moved.push(value)
      else if (held !== undefined) moved.push(held as T)
      state.clear()
    }
    this.namespace = into
    for (const value of moved) state.add(value)
  }

  private appending<IN, OUT>(state: AppendingState<IN, OUT>): AppendingState<IN, OUT> {
    const at = this.selecting(state)
    return { get: () => at().get(), add: (value) => at().add(value), clear: () => at().clear() }
  }

  private selecting<H>(handle: H): () => H {
    return () => {
      this.keyedState.setCurrentNamespace(this.namespace)
      return handle
    }
  }

  private handle<D extends { readonly name: string }, H>(descriptor: D, make: (named: D) => H): H {
    const known = this.handles.get(descriptor)
    if (known !== undefined) return known as H
    const made = make({ ...descriptor, name: `${this.prefix}${descriptor.name}` })
    this.handles.set(descriptor, made)
    return made
  }
}
