import type { LineFileOutput, LineFolder } from '../../connectors/file/line-folder.ts'
import type { RecordView } from '../../connectors/records/topic-record.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import { isWeirError, messageOf, WeirError } from '../../core/errors.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import { ratingLineFormat } from '../ratings/line-format.ts'
import type { DataRange } from '../registry/ranges/data-range.ts'
import { type ArchivePart, archiveDigest, partName, partOf } from './archive-parts.ts'
import { type LeftOut, LeftOutRecords } from './left-out.ts'
import { rangesOfTopic, readRecords } from './topic-ranges.ts'

/** Options of a `TopicArchive`. */
export interface TopicArchiveOptions {
  readonly topics: TopicStore
  readonly topic: string
  /** Folder of the part files; another archive may not use it. */
  readonly folder: LineFolder
  /** A record is written as it is, or as a rating with the time of its record where it has none. */
  readonly format: 'lines' | 'ratings'
  /** Offsets of a part file at most. @default 1,000,000 */
  readonly mostOffsets?: number
  /** Called for records that were removed from the topic before they were archived. */
  readonly onGap?: (partition: number, from: number, to: number) => void
}

/** What one round has archived. */
export interface ArchivedRound {
  readonly records: number
  readonly files: number
  /** Records that are no lines, or no ratings. */
  readonly leftOut: LeftOut | undefined
}

const MOST_OFFSETS = 1_000_000

/**
 * Copies a topic to part files of lines, each record once. A file has some offsets of one partition, and its name says which:
 *
 *   part-<partition>-<first offset>-<offset after the last>-<digest of the topic's id>.txt
 *
 * It gets this name in one step when it is whole. So the names are all that an archive must know: after a kill, or on another machine,
 * it goes on after the last offset that a name says. Only one process at a time may archive into a folder.
 */
export class TopicArchive {
  private readonly options: TopicArchiveOptions
  private readonly lineOf: (record: RecordView) => string

  constructor(options: TopicArchiveOptions) {
    this.options = options
    this.lineOf = options.format === 'ratings' ? ratingLines() : plainLine
  }

  /**
   * Archives what the topic has now and the folder has not. Throws ILLEGAL_STATE for a folder of another topic, or into which
   * another process archives, and the errors of topic and folder.
   */
  async round(): Promise<ArchivedRound> {
    const { topics, topic, folder } = this.options
    await folder.make()
    const ranges = await rangesOfTopic(topics, topic)
    const id = archiveDigest((await topics.identity(topic)).id)
    const leftOut = new LeftOutRecords()
    let [records, files] = [0, 0]
    for (const range of ranges) {
      const archived = await this.endOf(range.partition, id)
      if (archived !== undefined && archived < range.from) {
        this.options.onGap?.(range.partition, archived, range.from)
      }
      let from = Math.max(range.from, archived ?? 0)
      while (from < range.to) {
        const written = await this.writePart({ ...range, from }, id, leftOut)
        records += written.records
        files += written.records === 0 ? 0 : 1
        from = written.to
      }
    }
    return { records, files, leftOut: leftOut.found() }
  }

  /** Writes the next part of a range; no file where none of its records is a line. */
  private async writePart(
    range: DataRange,
    id: string,
    leftOut: LeftOutRecords,
  ): Promise<{ readonly records: number; readonly to: number }> {
    const { topics, folder, mostOffsets = MOST_OFFSETS } = this.options
    const { partition, from } = range
    const to = Math.min(range.to, from + mostOffsets)
    const pending = `.pending-part-${partition}.txt`
    const lines = readRecords(topics, [{ ...range, to }], (record) => {
      try {
        return this.lineOf(record)
      } catch (error) {
        if (!isWeirError(error, 'UNPARSABLE_RECORD')) throw error
        leftOut.onBad(partition, record.offset, messageOf(error))
        return undefined
      }
    })
    // A file of an attempt that was killed.
    await folder.remove(pending)
    const records = await writeLines(lines, () => folder.begin(pending))
    if (records > 0) await this.publish(pending, { partition, from, to, topic: id })
    return { records, to }
  }

  private async publish(pending: string, part: ArchivePart): Promise<void> {
    const { folder } = this.options
    const { partition, from, topic } = part
    const end = await this.endOf(partition, topic)
    if (end !== undefined && end > from) {
      throw new WeirError(
        'ILLEGAL_STATE',
        `another process has archived partition ${partition} to offset ${end} in ${folder.place}; archive a topic into a folder from one process`,
      )
    }
    await folder.rename(pending, partName(part))
  }

  /** The offset after the last one of a partition that the folder has; undefined where it has none. */
  private async endOf(partition: number, id: string): Promise<number | undefined> {
    const { folder, topic } = this.options
    let end: number | undefined
    for (const name of await folder.names()) {
      const part = partOf(name)
      if (part === undefined) continue
      if (part.topic !== id) {
        throw new WeirError(
          'ILLEGAL_STATE',
          `${folder.place} has ${name} of another topic, or of one that was deleted and created again as ${topic}; archive it into another folder`,
        )
      }
      if (part.partition === partition) end = Math.max(end ?? 0, part.to)
    }
    return end
  }
}

/** Writes lines to a file that is begun with the first one; returns their number. */
async function writeLines(
  pieces: AsyncIterable<readonly string[]>,
  begin: () => LineFileOutput,
): Promise<number> {
  let records = 0
  let output: LineFileOutput | undefined
  try {
    for await (const piece of pieces) {
      output ??= begin()
      output.write(`${piece.join('\n')}\n`)
      records += piece.length
      if (!output.ready()) await output.whenReady()
    }
    await output?.finish()
  } catch (error) {
    await output?.abandon()
    throw error
  }
  return records
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The value of a record. Throws UNPARSABLE_RECORD for one that is no line. */
function plainLine(record: RecordView): string {
  const value = record.value()
  if (value === null) throw new WeirError('UNPARSABLE_RECORD', 'it has no value')
  let text: string
  try {
    text = decoder.decode(value)
  } catch (cause) {
    throw new WeirError('UNPARSABLE_RECORD', 'its value is no UTF-8', { cause })
  }
  const line = text.replace(/\r?\n$/, '')
  if (!/[\r\n]/.test(line)) return line
  throw new WeirError('UNPARSABLE_RECORD', 'its value has several lines')
}

function ratingLines(): (record: RecordView) => string {
  const format = ratingLineFormat()
  const writer = new ByteWriter()
  return (record) => {
    const rating = format.read(new ByteReader(record.value() ?? new Uint8Array(0)))
    const timestamp = rating.timestamp === NO_TIMESTAMP ? record.timestamp : rating.timestamp
    writer.reset()
    format.write({ ...rating, timestamp }, writer)
    return decoder.decode(writer.toBytes())
  }
}
