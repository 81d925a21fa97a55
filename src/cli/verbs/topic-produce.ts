import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { FileToRead } from '../../connectors/file/list.ts'
import type { TopicProducer } from '../../connectors/topics/store.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import { systemClock } from '../../core/clock.ts'
import { dataDirectory } from '../../jobs/serve/data-directory.ts'
import { ratingLineFormat } from '../../models/ratings/line-format.ts'
import {
  type Command,
  type CommandIo,
  Flags,
  InterruptedError,
  needs,
  unlessInterrupted,
} from '../command/command.ts'
import { periodically } from '../command/periodically.ts'
import { ProducedFiles } from '../files/produced-files.ts'
import { ratingFiles, ratingPieces } from '../files/ratings-file.ts'
import {
  type RatingsReading,
  ratingsOptionsOf,
  ratingsReadingOf,
} from '../files/ratings-reading.ts'
import { seconds, wholeNumber } from '../flag-kinds/numbers.ts'
import { input } from '../flag-kinds/places.ts'
import { someText, topicName } from '../flag-kinds/words.ts'
import { DATA_DIR_OPTION } from '../flags/data-directory.ts'
import { KAFKA_OPTIONS, topicsOf } from '../flags/kafka.ts'
import { counted } from '../text/counted.ts'

/** `weir topic produce`: appends one record for each line of standard input, or each rating of files. */
export const topicProduceCommand: Command = {
  name: 'topic produce',
  summary: 'Append lines of standard input, or the ratings of files, to a topic',
  positions: [{ value: topicName }],
  stopsItself: true,
  options: {
    'key-separator': {
      type: 'string',
      excludes: ['ratings'],
      value: someText(),
      help: 'Text between key and value of a line (default: lines have no key)',
    },
    'key-column': {
      type: 'string',
      excludes: ['key-separator', 'ratings'],
      value: wholeNumber({ min: 1 }),
      help: 'The key of a line is its Nth column, between commas, and the value the whole line: 1 for lines user,item,rating, so that the ratings of a user keep their order',
    },
    ratings: {
      type: 'string',
      value: input('PLACE'),
      help: 'Append the ratings of a file or of a folder of part files, a path or an hdfs:// URL, as user,item,rating[,seconds] with the user as key',
    },
    ...ratingsOptionsOf('ratings'),
    watch: {
      type: 'string',
      needs: [needs('ratings')],
      value: seconds(),
      help: 'Look for new files in the folder of --ratings again after this time, until Ctrl-C',
    },
    ...KAFKA_OPTIONS,
    ...DATA_DIR_OPTION,
  },
  details: `Ctrl-C ends the input: all lines that were read before are stored, and a file of --ratings is stored as a
whole. --watch notes in --data-dir which files are in the topic, so that the same command continues after
its end; a file that was being read when the command was killed is read again. A file is appended when it has
the same size at two looks, and only once: one that changes later is reported, not read again. A writer that
pauses for longer than --watch writes its file under a name that begins with "_" or ".", then renames it.

Examples:
  printf '7:five stars\\n' | weir topic produce notes --key-separator :
  printf '1,50,5\\n' | weir topic produce observations --key-column 1
  weir topic produce observations --ratings hdfs://namenode:9870/ratings/fresh --watch 10`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const topic = args[0]!
    const place = flags.optional('ratings')
    const keyOf = keyOfLine(flags)
    await using topics = await unlessInterrupted(topicsOf(flags), io)
    const producer = await unlessInterrupted(topics.producer(topic), io)
    try {
      const input = { topic, producer, flags, io, keyOf, reading: ratingsReadingOf(flags, io) }
      return await (place === undefined ? produceLines(input) : produceRatings(place, input))
    } finally {
      await producer.close()
    }
  },
}

interface Input {
  readonly topic: string
  readonly producer: TopicProducer
  readonly flags: Flags
  readonly io: CommandIo
  readonly reading: RatingsReading
  readonly keyOf: (line: string) => KeyedLine
}

/** A line of the input. */
interface KeyedLine {
  readonly key: string | undefined
  readonly value: string
}

/** How a line is divided into key and value. */
export function keyOfLine(flags: Flags): (line: string) => KeyedLine {
  const column = flags.optionalNumber('key-column')
  if (column !== undefined) {
    return (value) => ({ key: value.split(',', column)[column - 1], value })
  }
  const separator = flags.optional('key-separator')
  return (line) => {
    const at = separator === undefined ? -1 : line.indexOf(separator)
    if (at < 0) return { key: undefined, value: line }
    return { key: line.slice(0, at), value: line.slice(at + separator!.length) }
  }
}

async function produceLines({ topic, producer, flags, io, keyOf }: Input): Promise<number> {
  const encoder = new TextEncoder()
  let records = 0
  let isInterrupted = false
  const lines = createInterface({ input: io.input })
  void io.interrupted.then(() => {
    isInterrupted = true
    lines.close()
  })
  for await (const line of lines) {
    const { key, value } = keyOf(line)
    const bytes = key === undefined ? null : encoder.encode(key)
    producer.sendRecord(bytes, encoder.encode(value), systemClock.nowMs(), -1, [])
    records++
    if (!producer.ready()) await producer.whenReady()
  }
  await producer.sync()
  io.out(
    flags.boolean('json')
      ? JSON.stringify({ topic, records })
      : `appended ${counted(records, 'record')} to ${topic}`,
  )
  return isInterrupted ? 130 : 0
}

async function produceRatings(place: string, input: Input): Promise<number> {
  const { topic, flags, io } = input
  if (flags.optional('watch') === undefined) {
    for (const file of await ratingFiles(place)) await produceFile(file.place, input)
    return 0
  }
  const seconds = flags.number('watch')
  const root = dataDirectory(flags.string('data-dir')).root
  const produced = ProducedFiles.open(join(root, 'produced', `${topic}.json`))
  let isInterrupted = false
  void io.interrupted.then(() => {
    isInterrupted = true
  })
  return await periodically({ seconds, io }, async () => {
    for (const file of await ratingFiles(place)) {
      if (isInterrupted) throw new InterruptedError('interrupted')
      const decision = produced.look(file)
      if (decision.kind === 'changed') warnOfChange(file, decision.bytesThen, input)
      if (decision.kind !== 'append') continue
      await produceFile(file.place, input)
      produced.add(file)
    }
  })
}

function warnOfChange({ place, bytes }: FileToRead, bytesThen: number, { topic, io }: Input): void {
  const count = (size: number): string => size.toLocaleString('en-US')
  io.err(
    `warning: ${place} has ${count(bytes)} bytes and had ${count(bytesThen)} when its ratings were appended; what has changed since is not in ${topic}: put new ratings into a new file`,
  )
}

/** Appends the ratings of a file; all are stored when this resolves. */
async function produceFile(
  file: string,
  { topic, producer, flags, io, reading }: Input,
): Promise<void> {
  const format = ratingLineFormat()
  const encoder = new TextEncoder()
  const writer = new ByteWriter()
  let records = 0
  for await (const ratings of ratingPieces(file, reading)) {
    for (const rating of ratings) {
      writer.reset()
      format.write(rating, writer)
      // All ratings of a user are in one partition, so that they keep their order.
      const key = encoder.encode(rating.user)
      producer.sendRecord(key, writer.toBytes(), systemClock.nowMs(), -1, [])
      records++
      if (!producer.ready()) await producer.whenReady()
    }
  }
  await producer.sync()
  io.out(
    flags.boolean('json')
      ? JSON.stringify({ topic, file, records })
      : `appended ${counted(records, 'rating')} of ${file} to ${topic}`,
  )
}
