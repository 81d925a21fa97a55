import { openLineFolder } from '../../connectors/file/open-folder.ts'
import { leftOutText } from '../../models/observations/left-out.ts'
import { type ArchivedRound, TopicArchive } from '../../models/observations/topic-archive.ts'
import { type Command, Flags, unlessInterrupted } from '../command/command.ts'
import { periodically } from '../command/periodically.ts'
import { seconds } from '../flag-kinds/numbers.ts'
import { place } from '../flag-kinds/places.ts'
import { topicName } from '../flag-kinds/words.ts'
import { DATA_DIR_OPTION } from '../flags/data-directory.ts'
import { KAFKA_OPTIONS, topicsOf } from '../flags/kafka.ts'
import { counted } from '../text/counted.ts'

/** `weir topic archive`: copies a topic to part files of a folder, once or again and again. */
export const topicArchiveCommand: Command = {
  name: 'topic archive',
  summary: 'Copy the records of a topic to part files of a folder or of HDFS, each once',
  positions: [{ value: topicName }],
  options: {
    to: {
      type: 'string',
      isRequired: true,
      value: place(),
      help: 'Folder of the part files, of this topic only: a path or an hdfs:// URL',
    },
    every: {
      type: 'string',
      value: seconds(),
      help: 'Archive new records again after this time, until Ctrl-C (default: once)',
    },
    ratings: {
      type: 'boolean',
      help: 'Write ratings, with the time of their record where they have none, and leave out records that are none',
    },
    ...KAFKA_OPTIONS,
    ...DATA_DIR_OPTION,
  },
  details: `A part file has the values of some offsets of one partition, one a line, and appears when it is whole. Its name
says the offsets, so the same command goes on after the last one: after Ctrl-C, after a kill, on another
machine. "train", "retrain" and "topic produce --ratings" read the folder. Records without a value, or of several
lines, are left out and counted. Archive from one process at a time.

Examples:
  weir topic archive observations --ratings --to archive
  weir topic archive ratings --ratings --brokers kafka:9092 --to hdfs://namenode:9870/history --every 60`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const topic = args[0]!
    await using topics = await unlessInterrupted(topicsOf(flags), io)
    const folder = openLineFolder(flags.string('to'))
    try {
      const archive = new TopicArchive({
        ...{ topics, topic, folder, format: flags.boolean('ratings') ? 'ratings' : 'lines' },
        onGap: (partition, from, to) =>
          io.err(
            `warning: offsets ${from} to ${to - 1} of partition ${partition} of ${topic} were removed before they were archived`,
          ),
      })
      const round = async (): Promise<void> => {
        const archived = await archive.round()
        if (archived.leftOut !== undefined) io.err(leftOutText(archived.leftOut, topic))
        io.out(textOf(archived, topic, flags))
      }
      const every = flags.optionalNumber('every')
      if (every === undefined) await unlessInterrupted(round(), io)
      else await periodically({ seconds: every, io }, () => unlessInterrupted(round(), io))
      return 0
    } finally {
      await folder.close()
    }
  },
}

function textOf({ records, files }: ArchivedRound, topic: string, flags: Flags): string {
  const to = flags.string('to')
  if (flags.boolean('json')) return JSON.stringify({ topic, to, records, files })
  return `archived ${counted(records, 'record')} of ${topic} in ${counted(files, 'file')} of ${to}`
}
