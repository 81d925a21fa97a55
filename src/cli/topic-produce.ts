import { createInterface } from 'node:readline'
import { systemClock } from '../core/clock.ts'
import { type Command, Flags, UsageError } from './command.ts'
import { DATA_DIR_OPTION } from './data-directory.ts'
import { KAFKA_OPTIONS, topicsOf } from './kafka-flags.ts'

/** `weir topic produce NAME`: one record per line of standard input. */
export const topicProduceCommand: Command = {
  name: 'topic produce',
  summary: 'Append lines of standard input to a topic',
  usage: 'NAME',
  options: {
    'key-separator': {
      type: 'string',
      value: 'TEXT',
      help: 'What stands between key and value in a line; no keys when missing',
    },
    ...KAFKA_OPTIONS,
    ...DATA_DIR_OPTION,
  },
  details: `Example:
  printf '7:five stars\\n' | weir topic produce notes --key-separator :`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const [topic] = args
    if (topic === undefined) throw new UsageError('give the name of the topic')
    const separator = flags.optional('key-separator')
    await using topics = await topicsOf(flags)
    const producer = await topics.producer(topic)
    const encoder = new TextEncoder()
    let records = 0
    for await (const line of createInterface({ input: process.stdin })) {
      const at = separator === undefined ? -1 : line.indexOf(separator)
      const key = at < 0 ? null : encoder.encode(line.slice(0, at))
      const value = at < 0 ? line : line.slice(at + separator!.length)
      producer.sendRecord(key, encoder.encode(value), systemClock.nowMs(), -1, [])
      records++
      if (!producer.ready()) await producer.whenReady()
    }
    await producer.sync()
    await producer.close()
    io.out(flags.boolean('json') ? JSON.stringify({ topic, records }) : `${records} records`)
    return 0
  },
}
