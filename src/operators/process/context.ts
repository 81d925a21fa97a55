import { ByteReader } from '../../core/byte-reader.ts'
import { WeirError } from '../../core/errors.ts'
import type { MetricGroup } from '../../core/metrics.ts'
import type { SourcePosition } from '../../core/position.ts'
import type { Serializer } from '../../core/serializer.ts'
import {
  type AggregatingStateDescriptor,
  type ListStateDescriptor,
  type MapStateDescriptor,
  type ReducingStateDescriptor,
  requireKind,
  type ValueStateDescriptor,
  type VectorStateDescriptor,
} from '../../state/port/descriptors.ts'
import type {
  AppendingState,
  ListState,
  MapState,
  ValueState,
  VectorState,
} from '../../state/port/handles.ts'
import type { KeyedState, KeyMemory } from '../../state/port/keyed-state.ts'
import type { Accumulator } from '../port/accumulator.ts'
import type { OperatorContext } from '../port/operator.ts'
import { type OutputTag, requireTag } from '../port/output-tag.ts'
import type {
  KeyedFunctionContext,
  OnTimerContext,
  ProcessContext,
  TimeDomain,
  TimerService,
} from './function.ts'

/** The context object of functions without keys, reused for all calls. */
export class PlainProcessContext implements ProcessContext {
  readonly operatorUid: string
  readonly operatorName: string
  readonly subtask: number
  readonly parallelism: number
  readonly maxParallelism: number
  readonly attempt: number
  readonly metrics: MetricGroup
  /** Set by the operator before every call. */
  timestamp = -1
  protected readonly operator: OperatorContext

  constructor(operator: OperatorContext) {
    this.operator = operator
    this.operatorUid = operator.uid
    this.operatorName = operator.name
    this.subtask = operator.subtask
    this.parallelism = operator.parallelism
    this.maxParallelism = operator.maxParallelism
    this.attempt = operator.attempt
    this.metrics = operator.metrics
  }

  get position(): SourcePosition {
    return this.operator.position()
  }

  get currentWatermark(): number {
    return this.operator.currentWatermark()
  }

  get currentProcessingTime(): number {
    return this.operator.clock.nowMs()
  }

  addAccumulator<A extends Accumulator>(name: string, accumulator: A): A {
    return this.operator.addAccumulator(name, accumulator)
  }

  getAccumulator<A extends Accumulator>(name: string): A | undefined {
    return this.operator.getAccumulator(name)
  }

  /** Reports a problem after which the job continues. */
  warn(warning: WeirError): void {
    this.operator.warn?.(warning)
  }

  output<T>(tag: OutputTag<T>, value: T): void {
    requireTag(tag, 'output')
    this.operator.output.collectSide(tag.id, value, this.timestamp)
  }
}

/**
 * The context of `open`, and of functions without keys. On a stream without keys its handles throw INVALID_GRAPH; what
 * is no descriptor of the right kind throws INVALID_ARGUMENT.
 */
export class OpenContext extends PlainProcessContext implements KeyedFunctionContext {
  /** The timers of a key; without keys it throws INVALID_GRAPH. */
  get timerService(): TimerService {
    throw new WeirError(
      'INVALID_GRAPH',
      `operator "${this.operatorName}" uses timers, which belong to keys, but its input is not keyed: call keyBy(...) before it`,
      { details: { operator: this.operatorUid } },
    )
  }

  getState<T>(descriptor: ValueStateDescriptor<T>): ValueState<T> {
    requireKind(descriptor, 'value', 'getState')
    return requireKeyedState(this.operator).value(descriptor)
  }

  getListState<T>(descriptor: ListStateDescriptor<T>): ListState<T> {
    requireKind(descriptor, 'list', 'getListState')
    return requireKeyedState(this.operator).list(descriptor)
  }

  getMapState<MK, V>(descriptor: MapStateDescriptor<MK, V>): MapState<MK, V> {
    requireKind(descriptor, 'map', 'getMapState')
    return requireKeyedState(this.operator).map(descriptor)
  }

  getReducingState<T>(descriptor: ReducingStateDescriptor<T>): AppendingState<T, T> {
    requireKind(descriptor, 'reducing', 'getReducingState')
    return requireKeyedState(this.operator).reducing(descriptor)
  }

  getAggregatingState<IN, ACC, OUT>(
    descriptor: AggregatingStateDescriptor<IN, ACC, OUT>,
  ): AppendingState<IN, OUT> {
    requireKind(descriptor, 'aggregating', 'getAggregatingState')
    return requireKeyedState(this.operator).aggregating(descriptor)
  }

  getVectorState(descriptor: VectorStateDescriptor): VectorState {
    requireKind(descriptor, 'vector', 'getVectorState')
    return requireKeyedState(this.operator).vector(descriptor)
  }
}

/** The context object of keyed functions, reused for all calls. */
export class KeyedOperatorContext<K> extends OpenContext implements OnTimerContext<K> {
  timeDomain: TimeDomain = 'event-time'
  private readonly keyedState: KeyedState
  private readonly keySerializer: Serializer<K>
  private timers: TimerService | undefined
  private decoded = false
  private key: K | undefined

  constructor(operator: OperatorContext, keySerializer: Serializer<K>) {
    super(operator)
    this.keyedState = requireKeyedState(operator)
    this.keySerializer = keySerializer
  }

  /** Begins a call: the key is decoded again at its next use. */
  begin(timestamp: number): void {
    this.timestamp = timestamp
    this.decoded = false
  }

  setTimers(timers: TimerService): void {
    this.timers = timers
  }

  override get timerService(): TimerService {
    if (this.timers === undefined) return super.timerService
    return this.timers
  }

  get currentKey(): K {
    if (!this.decoded) {
      this.key = this.keySerializer.read(new ByteReader(this.keyedState.currentKey()))
      this.decoded = true
    }
    return this.key as K
  }

  get currentKeyBytes(): Uint8Array {
    return this.keyedState.currentKey()
  }

  /** What an operator keeps in memory for the current key. */
  get keyMemory(): KeyMemory {
    return this.keyedState.keyMemory
  }
}

/** The keyed state of an operator that needs it. Throws INVALID_GRAPH when it has none. */
export function requireKeyedState(operator: OperatorContext): KeyedState {
  if (operator.keyedState !== undefined) return operator.keyedState
  throw new WeirError(
    'INVALID_GRAPH',
    `operator "${operator.name}" uses keyed state but its input is not keyed: call keyBy(...) before it`,
    { details: { operator: operator.uid } },
  )
}
