import type { MetricGroup } from '../../core/metrics.ts'
import type { OperatorContext } from '../port/operator.ts'
import { requireKeyedState } from '../process/context.ts'
import type { Timers } from '../process/timers.ts'
import type { TimeWindow } from './assigner.ts'
import type { WindowNamespaces } from './namespace.ts'
import { type MergingStateDescriptor, NamespacedState } from './namespaced-state.ts'
import type { OnMergeContext } from './trigger.ts'

/** The context object of a trigger, reused for all calls. */
export class WindowTriggerContext extends NamespacedState implements OnMergeContext {
  readonly metrics: MetricGroup
  private readonly timers: Timers
  private readonly namespaces: WindowNamespaces
  private merged: readonly TimeWindow[] = []

  constructor(operator: OperatorContext, timers: Timers, namespaces: WindowNamespaces) {
    super(requireKeyedState(operator), 'trigger/')
    this.metrics = operator.metrics
    this.timers = timers
    this.namespaces = namespaces
  }

  /** Selects the window of the next call, and those that became it. */
  at(window: TimeWindow, merged: readonly TimeWindow[] = []): this {
    this.namespace = this.namespaces.of(window.start, window.end)
    this.merged = merged
    return this
  }

  get currentWatermark(): number {
    return this.timers.currentWatermark
  }

  get currentProcessingTime(): number {
    return this.timers.currentProcessingTime
  }

  registerEventTimeTimer(timestamp: number): void {
    this.timersOfWindow().registerEventTimeTimer(timestamp)
  }

  deleteEventTimeTimer(timestamp: number): void {
    this.timersOfWindow().deleteEventTimeTimer(timestamp)
  }

  registerProcessingTimeTimer(timestamp: number): void {
    this.timersOfWindow().registerProcessingTimeTimer(timestamp)
  }

  deleteProcessingTimeTimer(timestamp: number): void {
    this.timersOfWindow().deleteProcessingTimeTimer(timestamp)
  }

  mergePartitionedState<T>(descriptor: MergingStateDescriptor<T>): void {
    const from = this.merged.map(({ start, end }) => this.namespaces.of(start, end))
    this.merge(descriptor, from)
  }

  private timersOfWindow(): Timers {
    this.keyedState.setCurrentNamespace(this.namespace)
    return this.timers
  }
}
