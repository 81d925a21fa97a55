import * as weir from '../../../../src/index.ts'
import * as learning from '../../../../src/learning.ts'
import { type ArgumentsCalls, made, methodsOf, of } from './call.ts'

const fn = (): void => {}
const { systemClock: clock } = weir
const stream = (): weir.DataStream<number> =>
  new weir.StreamExecutionEnvironment().fromElements([1])

/** Calls of jobs that learn. */
export const LEARNING_CALLS: ArgumentsCalls = {
  'new LearningGate': made(learning.LearningGate as never, 1),
  'new ObservationsGate': made(learning.ObservationsGate as never, 1),
  'new InFlightLimit': made(learning.InFlightLimit, new SharedArrayBuffer(8), 1),
  'InFlightLimit.newBuffer': of(learning.InFlightLimit.newBuffer, 1),
  'new LinearServingFunction': made(learning.LinearServingFunction, 1, false),
  'new ModelRowsOperator': made(learning.ModelRowsOperator, 2, 'fail', false, { 2: 3 }),
  'new WeightRowsOperator': made(learning.WeightRowsOperator, 2, 'fail'),
  'new PrequentialError': made(learning.PrequentialError),
  'new OnlineLinearRule': made(learning.OnlineLinearRule),
  'new LibsvmParser': made(learning.LibsvmParser, fn),
  'new ExampleRecordReader': made(learning.ExampleRecordReader),
  ...methodsOf('libsvmParser', () => new learning.LibsvmParser(fn), ['push', new Uint8Array()]),
  'new LearningCoordinator': made(learning.LearningCoordinator),
  'new SlotWeights': made(learning.SlotWeights),
  alsLearning: of(learning.alsLearning),
  linearLearning: of(learning.linearLearning),
  learnerRule: of(
    learning.learnerRule,
    { dimension: 2, biased: true },
    { rule: 'popularity' },
    { globalMean: 0, moments: fn },
  ),
  onlineRule: of(learning.onlineRule, { dimension: 2, biased: false }, { rule: 'sgd' }, fn),
  topicSink: of(
    learning.topicSink,
    { logDirectory: 'log' },
    { topic: 't', serialize: fn, guarantee: 'none', lingerMs: 1 },
  ),
  topicRecords: of(learning.topicRecords, undefined),
  resumeOffsetsOf: of(learning.resumeOffsetsOf, 1),
  quarantine: of(learning.quarantine, stream(), { logDirectory: 'log' }, 't'),
  placeIn: of(learning.placeIn, { logDirectory: 'log' }),
  deltasTopic: of(learning.deltasTopic, 'rows'),
  feedbackOf: of(learning.feedbackOf, {}),
  targetOf: of(learning.targetOf, 'explicit', 1),
  sleep: of(learning.sleep, clock, 1),
}
