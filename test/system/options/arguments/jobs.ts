import avro from 'avsc'
import * as weir from '../../../../src/index.ts'
import * as learning from '../../../../src/learning.ts'
import type { World } from '../calls.ts'
import { type ArgumentsCalls, methodsOf, of, on } from './call.ts'

const fn = (): void => {}
const same = (value: unknown): unknown => value
const states = [weir.mapState('rules')] as const
const change = {
  from: weir.valueState<number>('n'),
  to: weir.valueState<string>('n'),
  change: String,
}
const writer = () => weir.SavepointWriter.newSavepoint(128)
const data = () => weir.bootstrapWith([1])
const processing = () => ({ processElement() {} })

const read = ({ savepoint }: World): weir.SavepointReader => savepoint
const readers = () => ({ open() {}, readKey() {} })
const unending = { result: new Promise<never>(fn), cancel: async () => {} }
const results = () => new weir.CollectedResults({ wakeReader: fn } as never, unending)

/** A reader of a savepoint that yields what it reads: it looks at its arguments when it is read. */
const yielding = (method: 'readKeyedState' | 'readWindows', ...args: unknown[]) => ({
  args,
  call: async ({ savepoint }: World, ...given: never[]) =>
    await (savepoint[method] as (...a: never[]) => AsyncGenerator)(...given).next(),
})

/** Calls of running jobs and of savepoints. */
export const JOB_CALLS: ArgumentsCalls = {
  'ServedJob.start': of(weir.ServedJob.start),
  startJob: of(weir.startJob, new URL('file:///none.ts')),
  serveAls: of(weir.serveAls),
  serveSvm: of(weir.serveSvm),
  learnAls: of(weir.learnAls),
  learnSvm: of(weir.learnSvm),
  'jobExecution.waitFor': on(({ job }) => job, 'waitFor', 'RUNNING'),
  'jobExecution.onStatus': on(({ job }) => job, 'onStatus', fn),
  'jobExecution.onWarning': on(({ job }) => job, 'onWarning', fn),
  'jobExecution.triggerCheckpoint': on(({ job }) => job, 'triggerCheckpoint', false),
  'jobExecution.triggerSavepoint': on(({ job }) => job, 'triggerSavepoint', '/tmp/none'),
  'jobExecution.stopWithSavepoint': on(({ job }) => job, 'stopWithSavepoint'),
  'jobExecution.killSlot': on(({ job }) => job, 'killSlot', 0),

  ...methodsOf('collectedResults', results, ['takeFirst', 1]),

  'savepointReader.readKeyedState': yielding('readKeyedState', 'keyed', readers),
  'savepointReader.readWindows': yielding('readWindows', 'keyed'),
  ...methodsOf(
    'savepointReader',
    read,
    ['readListState', 'keyed', weir.listState('l')],
    ['readUnionState', 'keyed', weir.listState('l')],
    ['readBroadcastState', 'keyed', weir.mapState('m')],
    ['operatorOf', 'keyed'],
  ),
  ...methodsOf('keyedStateTransformation', () => data().keyBy((n) => n), ['transform', processing]),
  ...methodsOf('broadcastStateTransformation', () => data().broadcast(...states), [
    'transform',
    () => ({ processBroadcastElement() {} }),
  ]),
  bootstrapWith: of(weir.bootstrapWith, [1]),
  'oneInputStateTransformation.keyBy': on(data, 'keyBy', same),
  'oneInputStateTransformation.transform': on(data, 'transform', processing),
  'oneInputStateTransformation.broadcast': on(data, 'broadcast', ...states),
  'SavepointReader.read': of(weir.SavepointReader.read, 'missing'),
  'SavepointWriter.newSavepoint': of(weir.SavepointWriter.newSavepoint, 128),
  'SavepointWriter.fromExistingSavepoint': of(
    weir.SavepointWriter.fromExistingSavepoint,
    'missing',
  ),
  'savepointWriter.removeOperator': on(writer, 'removeOperator', 'u'),
  'savepointWriter.withOperator': on(
    writer,
    'withOperator',
    'u',
    data().transform(processing as never),
  ),
  'savepointWriter.changeOperatorIdentifier': on(writer, 'changeOperatorIdentifier', 'u', 'v'),
  'savepointWriter.changeValues': on(writer, 'changeValues', 'u', change),
  'savepointWriter.changeWindows': on(writer, 'changeWindows', 'u', change),
  'savepointWriter.changeKeys': on(writer, 'changeKeys', 'u', change),
  avroFormat: of(weir.avroFormat, avro.Type, 'string'),
  jsonSchemaFormat: of(weir.jsonSchemaFormat, {}, () => true),
  structFormat: of(weir.structFormat, { n: { type: 'int32' } }),
  trainedWith: of(learning.trainedWith, {}),
  createModelTopics: of(weir.createModelTopics, undefined, 't'),
  'savepointWriter.write': on(writer, 'write', 'missing'),
}
