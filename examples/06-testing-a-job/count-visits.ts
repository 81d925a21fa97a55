import {
  type Collector,
  type KeyedFunctionContext,
  type KeyedProcessContext,
  type KeyedProcessFunction,
  type OnTimerContext,
  type ValueState,
  valueState,
} from '../../src/index.ts'

/** The function under test: counts visits of a user and reports the count after 30 s of silence. */
export class CountVisits implements KeyedProcessFunction<string, string, string> {
  private count!: ValueState<number>
  private deadline!: ValueState<number>

  open(context: KeyedFunctionContext): void {
    this.count = context.getState(valueState<number>('count'))
    this.deadline = context.getState(valueState<number>('deadline'))
  }

  processElement(_: string, context: KeyedProcessContext<string>): void {
    this.count.update((this.count.value() ?? 0) + 1)
    const timers = context.timerService
    const previous = this.deadline.value()
    if (previous !== undefined) timers.deleteProcessingTimeTimer(previous)
    const deadline = timers.currentProcessingTime + 30_000
    timers.registerProcessingTimeTimer(deadline)
    this.deadline.update(deadline)
  }

  onTimer(_: number, context: OnTimerContext<string>, out: Collector<string>): void {
    out.collect(`${context.currentKey}: ${this.count.value()} visits`)
    this.count.clear()
    this.deadline.clear()
  }
}
