import { int53Serializer } from '../../../src/core/serializer.ts'
import type { JoinInterval } from '../../../src/operators/joins/interval-join.ts'
import type {
  Collector,
  KeyedCoProcessFunction,
  KeyedFunctionContext,
  KeyedProcessContext,
  OnTimerContext,
} from '../../../src/operators/process/function.ts'
import type { FunctionInitializationContext } from '../../../src/operators/process/function-life.ts'
import { listState, mapState } from '../../../src/state/port/descriptors.ts'
import type { MapState } from '../../../src/state/port/handles.ts'

type Buffer<T> = MapState<number, T[]>

/** The interval join of former releases as to its state: a timer for each record, and its bounds in operator state. */
export class FormerJoin<T> implements KeyedCoProcessFunction<string, T, T, string> {
  private readonly interval: JoinInterval
  private readonly pairOf: (left: T, right: T) => string
  private left!: Buffer<T>
  private right!: Buffer<T>

  constructor(interval: JoinInterval, pairOf: (left: T, right: T) => string) {
    this.interval = interval
    this.pairOf = pairOf
  }

  initializeState(context: FunctionInitializationContext): void {
    const { lowerMs, upperMs } = this.interval
    context.getUnionListState(listState('interval-join/bounds')).update([[lowerMs, upperMs]])
  }

  open(context: KeyedFunctionContext): void {
    const keySerializer = int53Serializer
    this.left = context.getMapState(mapState<number, T[]>('left-buffer', { keySerializer }))
    this.right = context.getMapState(mapState<number, T[]>('right-buffer', { keySerializer }))
  }

  processElement1(value: T, context: KeyedProcessContext<string>, out: Collector<string>): void {
    const { lowerMs, upperMs } = this.interval
    const time = keep(this.left, value, Math.max(0, upperMs), context)
    for (const other of within(this.right, time + lowerMs, time + upperMs)) {
      out.collect(this.pairOf(value, other))
    }
  }

  processElement2(value: T, context: KeyedProcessContext<string>, out: Collector<string>): void {
    const { lowerMs, upperMs } = this.interval
    const time = keep(this.right, value, Math.max(0, -lowerMs), context)
    for (const other of within(this.left, time - upperMs, time - lowerMs)) {
      out.collect(this.pairOf(other, value))
    }
  }

  onTimer(timestamp: number, _context: OnTimerContext<string>): void {
    this.left.remove(timestamp - Math.max(0, this.interval.upperMs))
    this.right.remove(timestamp - Math.max(0, -this.interval.lowerMs))
  }
}

/** Keeps a record that is not late. Returns its time; NaN for a late one, which joins nothing. */
function keep<T>(
  buffer: Buffer<T>,
  value: T,
  keptMs: number,
  { timestamp, timerService }: KeyedProcessContext<string>,
): number {
  if (timestamp < timerService.currentWatermark) return Number.NaN
  buffer.put(timestamp, [...(buffer.get(timestamp) ?? []), value])
  timerService.registerEventTimeTimer(timestamp + keptMs)
  return timestamp
}

function within<T>(buffer: Buffer<T>, from: number, to: number): readonly T[] {
  return [...buffer.entries()].flatMap(([time, values]) =>
    time >= from && time <= to ? values : [],
  )
}
