import { setImmediate } from 'node:timers/promises'
import { type TopicRecord, topicRecordDeserializer } from '../../connectors/records/topic-record.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import { systemClock } from '../../core/clock.ts'
import { MetricGroup } from '../../core/metrics.ts'
import { printable } from '../../core/text/printable.ts'
import type { SourceReader, SourceSplit } from '../../operators/port/source.ts'
import {
  type Command,
  Flags,
  missingArguments,
  UsageError,
  unlessInterrupted,
} from '../command/command.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'
import { orWord } from '../flag-kinds/words.ts'
import { DATA_DIR_OPTION } from '../flags/data-directory.ts'
import { KAFKA_OPTIONS, topicsOf } from '../flags/kafka.ts'

/** `weir topic consume`: prints the records of a topic up to its end, or until Ctrl-C. */
export const topicConsumeCommand: Command = {
  name: 'topic consume',
  summary: 'Print the committed records of a topic',
  usage: 'TOPIC',
  stopsItself: true,
  options: {
    follow: { type: 'boolean', short: 'f', help: 'Wait for new records until Ctrl-C' },
    from: {
      type: 'string',
      value: orWord(wholeNumber({ min: 0 }, 'OFFSET'), 'earliest', 'latest'),
      default: 'earliest',
      help: 'First offset of each partition: earliest, latest or a number',
    },
    partition: { type: 'string', value: wholeNumber(), help: 'Read only this partition' },
    limit: { type: 'string', value: wholeNumber({ min: 1 }), help: 'Stop after N records' },
    raw: {
      type: 'boolean',
      help: 'Print the bytes of records as they are, also those that a terminal obeys',
    },
    hex: { type: 'boolean', help: 'Print values and headers as hexadecimal digits' },
    ...KAFKA_OPTIONS,
    ...DATA_DIR_OPTION,
  },
  details: `Examples:
  weir topic consume observations --limit 3
  weir topic consume observations --from latest --follow`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const [topic] = args
    if (topic === undefined) throw missingArguments(topicConsumeCommand)
    const limit = flags.optionalNumber('limit') ?? Number.POSITIVE_INFINITY
    await using topics = await unlessInterrupted(topicsOf(flags), io)
    const bounded = !flags.boolean('follow')
    const source = topics.source({ topic, bounded, deserialize: topicRecordDeserializer })
    const splits = await unlessInterrupted(splitsOf(topics, topic, flags), io)
    const reader = source.createReader()
    let interrupted = false
    const stop = io.interrupted.then(() => {
      interrupted = true
    })
    let printed = 0
    const isRaw = flags.boolean('raw')
    const print = (line: string): void => (isRaw ? (io.outRaw ?? io.out) : io.out)(line)
    const collect = (record: TopicRecord): void => {
      if (printed++ < limit) print(lineOf(record, flags))
    }
    try {
      await unlessInterrupted(openReader(reader, splits), io)
      while (!interrupted && printed < limit) {
        const outcome = reader.poll({ collect, progress: () => {} }, 256)
        if (outcome === 'ended') break
        if (outcome === 'idle') await Promise.race([reader.available(), stop])
        // A slow reader of the output holds the reading; signals are delivered meanwhile.
        await Promise.race([io.drained(), stop])
        await setImmediate()
      }
    } finally {
      await reader.close()
    }
    return 0
  },
}

async function openReader(
  reader: SourceReader<TopicRecord>,
  splits: readonly SourceSplit[],
): Promise<void> {
  const metrics = new MetricGroup('consume')
  await reader.open({ subtask: 0, parallelism: 1, clock: systemClock, metrics })
  await reader.addSplits(splits)
}

/** The partitions and offsets of the flags. Throws UsageError. */
async function splitsOf(
  topics: TopicStore,
  topic: string,
  flags: Flags,
): Promise<readonly SourceSplit[]> {
  const only = flags.optionalNumber('partition')
  const from = flags.string('from')
  const offset = from === 'earliest' || from === 'latest' ? -1 : flags.number('from')
  const bounds = await topics.bounds(topic)
  const chosen = bounds.filter(({ partition }) => only === undefined || partition === only)
  if (chosen.length === 0) {
    throw new UsageError(`--partition: ${topic} has partitions 0 to ${bounds.length - 1}`)
  }
  return chosen.map(({ partition, start, end }) => {
    if (from === 'latest') return { partition, nextOffset: end }
    return { partition, nextOffset: offset < 0 ? -1 : Math.min(Math.max(offset, start), end) }
  })
}

function lineOf(record: TopicRecord, flags: Flags): string {
  const text = (bytes: Uint8Array | null): string | null => {
    if (bytes === null) return null
    return Buffer.from(bytes).toString(flags.boolean('hex') ? 'hex' : 'utf8')
  }
  const key = record.key === null ? null : Buffer.from(record.key).toString('utf8')
  const { partition, offset, timestamp } = record
  const headers = record.headers.map(({ key: name, value }) => [name, text(value)] as const)
  if (flags.boolean('json')) {
    const fields = { partition, offset, timestamp, key, value: text(record.value) }
    return JSON.stringify(headers.length === 0 ? fields : { ...fields, headers })
  }
  const shown = headers.map(([name, value]) => `${name}=${value ?? ''}`).join(', ')
  const rest = `${key ?? '-'}  ${text(record.value) ?? '(deleted)'}${shown === '' ? '' : `  [${shown}]`}`
  return `${partition}:${offset}  ${flags.boolean('raw') ? rest : printable(rest)}`
}
