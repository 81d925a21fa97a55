/** What the package exports of windows: their assigners, triggers, evictors and functions. */

export {
  assignedEventTimeWindows,
  assignedProcessingTimeWindows,
  cumulativeEventTimeWindows,
  cumulativeProcessingTimeWindows,
  localDayWindows,
  localHourWindows,
} from './operators/windows/assigned/assigners.ts'
export {
  type AlignedWindows,
  type AssignedWindows,
  type CountWindows,
  type CumulativeWindows,
  countWindows,
  dynamicEventTimeSessionWindows,
  dynamicProcessingTimeSessionWindows,
  eventTimeSessionWindows,
  type GlobalWindows,
  globalWindows,
  processingTimeSessionWindows,
  type SessionWindows,
  slidingEventTimeWindows,
  slidingProcessingTimeWindows,
  type TimeWindow,
  tumblingEventTimeWindows,
  tumblingProcessingTimeWindows,
  type WindowAssigner,
} from './operators/windows/assigner.ts'
export {
  continuousEventTimeTrigger,
  continuousProcessingTimeTrigger,
} from './operators/windows/continuous-trigger.ts'
export {
  countEvictor,
  deltaEvictor,
  type Evictor,
  type EvictorContext,
  type EvictorOptions,
  type TimestampedValue,
  timeEvictor,
} from './operators/windows/evictor.ts'
export type {
  ProcessWindowFunction,
  WindowContext,
  WindowFunctionContext,
  WindowStateAccess,
} from './operators/windows/function.ts'
export type {
  MergingStateDescriptor,
  NamespacedStateAccess,
} from './operators/windows/namespaced-state.ts'
export {
  countTrigger,
  deltaTrigger,
  eventTimeTrigger,
  neverTrigger,
  type OnMergeContext,
  processingTimeTrigger,
  purgingTrigger,
  type Trigger,
  type TriggerContext,
  type TriggerResult,
} from './operators/windows/trigger.ts'
