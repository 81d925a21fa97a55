import * as weir from '../../../../src/index.ts'
import { OperatorHarness } from '../../../../src/testing/index.ts'
import { DiscardingOperator } from '../discarding-operator.ts'
import { type ArgumentsCalls, methodsOf, of, on } from './call.ts'

const fn = (): void => {}
const summing: weir.AggregateFunction<number, number, number> = {
  createAccumulator: () => 0,
  add: (value, sum) => value + sum,
  getResult: (sum) => sum,
  merge: (a, b) => a + b,
}

const metrics = async () =>
  (await OperatorHarness.open({ operator: new DiscardingOperator() })).metrics

/** Calls of windows, of state, of accumulators, of metrics and of errors. */
export const STATE_CALLS: ArgumentsCalls = {
  boundedOutOfOrderness: of(weir.boundedOutOfOrderness, 1),
  generatedWatermarks: of(weir.generatedWatermarks, () => ({ onEvent: fn, onPeriodicEmit: fn })),
  monotonousTimestamps: of(weir.monotonousTimestamps),
  countWindows: of(weir.countWindows, 1),
  dynamicEventTimeSessionWindows: of(weir.dynamicEventTimeSessionWindows, () => 1),
  dynamicProcessingTimeSessionWindows: of(weir.dynamicProcessingTimeSessionWindows, () => 1),
  eventTimeSessionWindows: of(weir.eventTimeSessionWindows, 1),
  processingTimeSessionWindows: of(weir.processingTimeSessionWindows, 1),
  slidingEventTimeWindows: of(weir.slidingEventTimeWindows, 2, 1),
  slidingProcessingTimeWindows: of(weir.slidingProcessingTimeWindows, 2, 1),
  assignedEventTimeWindows: of(weir.assignedEventTimeWindows, () => []),
  assignedProcessingTimeWindows: of(weir.assignedProcessingTimeWindows, () => []),
  cumulativeEventTimeWindows: of(weir.cumulativeEventTimeWindows, 2, 1),
  cumulativeProcessingTimeWindows: of(weir.cumulativeProcessingTimeWindows, 2, 1),
  localDayWindows: of(weir.localDayWindows, 'Europe/Berlin'),
  localHourWindows: of(weir.localHourWindows, 'Europe/Berlin'),
  tumblingEventTimeWindows: of(weir.tumblingEventTimeWindows, 1),
  tumblingProcessingTimeWindows: of(weir.tumblingProcessingTimeWindows, 1),
  continuousEventTimeTrigger: of(weir.continuousEventTimeTrigger, 1),
  continuousProcessingTimeTrigger: of(weir.continuousProcessingTimeTrigger, 1),
  countEvictor: of(weir.countEvictor, 1),
  deltaEvictor: of(weir.deltaEvictor, 1, () => 1),
  timeEvictor: of(weir.timeEvictor, 1),
  countTrigger: of(weir.countTrigger, 1),
  deltaTrigger: of(weir.deltaTrigger, 1, () => 1),
  purgingTrigger: of(weir.purgingTrigger, weir.countTrigger(1)),
  exponentialBackoffRetry: of(weir.exponentialBackoffRetry),
  fixedDelayRetry: of(weir.fixedDelayRetry),

  aggregatingState: of(weir.aggregatingState, 's', summing),
  listState: of(weir.listState, 's'),
  mapState: of(weir.mapState, 's'),
  reducingState: of(weir.reducingState, 's', (a: number) => a),
  valueState: of(weir.valueState, 's'),
  vectorState: of(weir.vectorState, 's', { dimension: 1 }),

  registerAccumulator: of(weir.registerAccumulator, () => new weir.IntCounter()),
  ...Object.fromEntries(
    [
      weir.AverageAccumulator,
      weir.DoubleCounter,
      weir.IntCounter,
      weir.LongCounter,
      weir.DoubleMaximum,
      weir.DoubleMinimum,
      weir.IntMaximum,
      weir.IntMinimum,
      weir.LongMaximum,
      weir.LongMinimum,
      weir.HistogramAccumulator,
    ].map((type: new () => { add(value: number): void }) => [
      `${type.name[0]!.toLowerCase()}${type.name.slice(1)}.add`,
      on(() => new type(), 'add', 1),
    ]),
  ),

  ...methodsOf(
    'metricGroup',
    metrics,
    ['group', 'g'],
    ['counter', 'c'],
    ['gauge', 'g', () => 1],
    ['histogram', 'h'],
  ),
  ...methodsOf('histogram', async () => (await metrics()).histogram('h'), ['quantile', 0.5]),
  isWeirError: of(weir.isWeirError, undefined),
}
