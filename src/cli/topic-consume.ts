import { type LogRecord, logRecordDeserializer } from '../connectors/log/log-record.ts'
import { systemClock } from '../core/clock.ts'
import { MetricGroup } from '../core/metrics.ts'
import { type Command, Flags, UsageError } from './command.ts'
import { DATA_DIR_OPTION } from './data-directory.ts'
import { KAFKA_OPTIONS, topicsOf } from './kafka-flags.ts'

/** `weir topic consume NAME`: prints records, to the present end or on and on. */
export const topicConsumeCommand: Command = {
  name: 'topic consume',
  summary: 'Print the committed records of a topic',
  usage: 'NAME',
  options: {
    follow: { type: 'boolean', short: 'f', help: 'Go on until Ctrl-C' },
    limit: { type: 'string', value: 'N', help: 'Stop after so many records' },
    hex: { type: 'boolean', help: 'Print values as hexadecimal digits' },
    ...KAFKA_OPTIONS,
    ...DATA_DIR_OPTION,
  },
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const [topic] = args
    if (topic === undefined) throw new UsageError('give the name of the topic')
    const limit = flags.optionalInteger('limit', 1) ?? Number.POSITIVE_INFINITY
    await using topics = await topicsOf(flags)
    const bounded = !flags.boolean('follow')
    const source = topics.source({ topic, bounded, deserialize: logRecordDeserializer })
    const partitions = await source.discover()
    const reader = source.createReader()
    const metrics = new MetricGroup('consume')
    await reader.open({ subtask: 0, parallelism: 1, clock: systemClock, metrics })
    await reader.addSplits(partitions.map((partition) => ({ partition, nextOffset: -1 })))
    let interrupted = false
    const stop = io.interrupted.then(() => {
      interrupted = true
    })
    let printed = 0
    const print = (record: LogRecord): void => {
      if (printed++ < limit) io.out(lineOf(record, flags))
    }
    try {
      while (!interrupted && printed < limit) {
        const outcome = reader.poll({ collect: print, progress: () => {} }, 256)
        if (outcome === 'ended') break
        if (outcome === 'idle') await Promise.race([reader.available(), stop])
      }
    } finally {
      await reader.close()
    }
    return 0
  },
}

function lineOf(record: LogRecord, flags: Flags): string {
  const text = (bytes: Uint8Array | null): string | null => {
    if (bytes === null) return null
    return Buffer.from(bytes).toString(flags.boolean('hex') ? 'hex' : 'utf8')
  }
  const key = record.key === null ? null : Buffer.from(record.key).toString('utf8')
  const { partition, offset, timestamp } = record
  if (flags.boolean('json')) {
    return JSON.stringify({ partition, offset, timestamp, key, value: text(record.value) })
  }
  return `${partition}:${offset}  ${key ?? '-'}  ${text(record.value) ?? '(deleted)'}`
}
