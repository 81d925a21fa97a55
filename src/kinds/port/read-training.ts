import { openTopics } from '../../connectors/topics/open.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import type { HistoryFiles, ReadPlace } from '../../models/observations/history.ts'
import { type LeftOut, LeftOutRecords } from '../../models/observations/left-out.ts'
import { RangesReading } from '../../models/observations/ranges-reading.ts'
import type { BadObservation } from '../../models/observations/topic-ranges.ts'
import type { DataRange } from '../../models/registry/ranges/data-range.ts'
import { newestOf } from '../../models/registry/ranges/trained-on.ts'
import type { TrainingData } from './trainer.ts'

/** What a training does with its observations. */
export interface ObservationTarget<O> {
  /** Reads ranges; records that are no observations go to `onBad`. */
  read(
    topics: TopicStore,
    ranges: readonly DataRange[],
    onBad: BadObservation,
  ): AsyncIterable<readonly O[]>
  /** Reads files; `onRead` gets what was read of each place. */
  readHistory(
    history: HistoryFiles,
    onRead: (place: ReadPlace) => void,
  ): AsyncIterable<readonly O[]>
  /** Notes that an observation was read. */
  note(reading: RangesReading, observation: O): void
  /** Takes an observation and returns its time, or leaves it out, says why to `onBad`, and returns undefined. */
  take(observation: O, onBad: BadObservation): number | undefined
}

/** What was read of the observations of a training. */
export interface ReadTraining {
  readonly leftOut: LeftOut | undefined
  /** Event time of the newest observation that was taken, ms since 1970; -1 where none has one. */
  readonly newestEventMs: number
  /** The ranges with what was read of them. */
  readonly read: readonly DataRange[]
  /** The places of the history with what was read of them. */
  readonly files: readonly ReadPlace[]
  /** Records and lines that cannot be read. */
  readonly unparsable: number
}

/**
 * Reads the observations of a training: those of files, then those of the topic, one partition at a time: else their order,
 * and so the rows, would vary.
 */
export async function readTraining<O>(
  { place, ranges, history }: TrainingData,
  target: ObservationTarget<O>,
): Promise<ReadTraining> {
  await using topics = await openTopics(place)
  const leftOut = new LeftOutRecords()
  const reading = new RangesReading(ranges)
  const older = await readFiles(history, target)
  let { newestEventMs } = older
  for (const range of [...ranges].sort((a, b) => a.partition - b.partition)) {
    for await (const piece of target.read(topics, [range], leftOut.onBad)) {
      for (const observation of piece) {
        target.note(reading, observation)
        const timestamp = target.take(observation, leftOut.onBad)
        if (timestamp !== undefined) newestEventMs = newestOf(newestEventMs, timestamp)
      }
    }
  }
  const left = leftOut.found()
  const { files } = older
  const unparsable = files.reduce((sum, file) => sum + (file.leftOut?.count ?? 0), left?.count ?? 0)
  return { leftOut: left, newestEventMs, read: reading.ranges, files, unparsable }
}

/** Takes the observations of files. */
async function readFiles<O>(
  history: HistoryFiles | undefined,
  target: ObservationTarget<O>,
): Promise<Pick<ReadTraining, 'files' | 'newestEventMs'>> {
  const files: ReadPlace[] = []
  let newestEventMs = -1
  let refused: LeftOut | undefined
  const onBad: BadObservation = (_partition, _offset, first) => {
    refused = { first, ...refused, count: (refused?.count ?? 0) + 1 }
  }
  const onRead = (read: ReadPlace): void => {
    const { count = 0, first = '' } = read.leftOut ?? {}
    const all = refused && { first: first || refused.first, count: count + refused.count }
    files.push({ ...read, leftOut: all ?? read.leftOut })
    refused = undefined
  }
  const pieces = history === undefined ? [] : target.readHistory(history, onRead)
  for await (const piece of pieces) {
    for (const observation of piece) {
      const timestamp = target.take(observation, onBad)
      if (timestamp !== undefined) newestEventMs = newestOf(newestEventMs, timestamp)
    }
  }
  return { files, newestEventMs }
}
