import { KafkaSink, KafkaSource } from '../../../../src/connectors/kafka/index.ts'
import * as weir from '../../../../src/index.ts'
import { openInferenceEngine } from '../../../../src/inference.ts'
import type { World } from '../calls.ts'
import { type ArgumentsCalls, made, methodsOf, of, on } from './call.ts'

const same = (value: unknown): unknown => value
const format = weir.jsonFormat()
const log = (world: World): World['log'] => world.log

const nothing = new Uint8Array()

/** Calls of sources, sinks, topics and formats. */
export const CONNECTOR_CALLS: ArgumentsCalls = {
  'new LineFileSink': made(weir.LineFileSink),
  'new LineFileSource': made(weir.LineFileSource),
  'EmbeddedLog.open': {
    args: [],
    call: (_world, ...args) => (weir.EmbeddedLog.open as (...o: never[]) => unknown)(...args),
  },
  'embeddedLog.createTopic': on(log, 'createTopic', 'new'),
  'embeddedLog.describe': on(log, 'describe', 'orders'),
  'embeddedLog.bounds': on(log, 'bounds', 'orders', 0),
  'embeddedLog.producer': on(log, 'producer', 'orders'),
  'embeddedLog.reader': on(log, 'reader', 'orders', 0),
  'embeddedLog.setPartitions': on(log, 'setPartitions', 'orders', 1),
  ...methodsOf(
    'embeddedLogProducer',
    async (world) => await log(world).producer('orders'),
    ['send', nothing, nothing, 0],
    ['positionOf', nothing],
    ['continueWith', { transactionalId: 't', producerId: 1, epoch: 0 }],
    ['begin', 't'],
  ),
  'new KafkaSink': made(KafkaSink),
  'new KafkaSource': made(KafkaSource),
  openInferenceEngine: of(openInferenceEngine),
  'embeddedLog.deleteTopic': on(log, 'deleteTopic', 'none'),
  'embeddedLog.deleteRecords': on(log, 'deleteRecords', 'orders', 0, 0),
  'embeddedLog.eraseRecords': on(log, 'eraseRecords', 'orders', 0, [0]),
  'embeddedLog.endTransaction': on(log, 'endTransaction', { transactionalId: 't' }, true),
  'new LogSink': made(weir.LogSink),
  'new LogSource': made(weir.LogSource),
  'LogSource.raw': of(weir.LogSource.raw),
  'new GeneratorSource': made(weir.GeneratorSource),
  'new MemorySink': made(weir.MemorySink),
  'new MemorySource': made(weir.MemorySource, [[1]]),
  'new PrintSink': made(weir.PrintSink),
  'new FormatNotReady': made(weir.FormatNotReady, Promise.resolve()),
  deserializeKeyValue: of(weir.deserializeKeyValue, format, format),
  deserializeValue: of(weir.deserializeValue, format),
  serializeKeyValue: of(weir.serializeKeyValue, format, format),
  serializeFailedRecord: of(weir.serializeFailedRecord, format),
  serializeValue: of(weir.serializeValue, format),
  openTopics: of(weir.openTopics),
  csvColumns: of(weir.csvColumns, 'a,b', { a: 'string', b: 'string' }),
  csvFormat: of(weir.csvFormat),
  float32VectorFormat: of(weir.float32VectorFormat),
  jsonFormat: of(weir.jsonFormat),
  formatLine: of(weir.formatLine, format),
  parseLine: of(weir.parseLine, format),
  msgpackFormat: of(weir.msgpackFormat),
  textFormat: of(weir.textFormat, { id: 'a/1', parse: same, format: String }),
  ratingLineFormat: of(weir.ratingLineFormat),
  'KafkaSource.raw': of(KafkaSource.raw),
}
