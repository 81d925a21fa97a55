import { openTopics } from '../../connectors/topics/open.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import { type LeftOut, LeftOutRecords } from '../../jobs/observations/left-out.ts'
import { RangesReading } from '../../jobs/observations/ranges-reading.ts'
import type { BadObservation } from '../../jobs/observations/topic-ranges.ts'
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
}

/** Reads the observations of a training, one partition at a time: else their order, and so the rows, would vary. */
export async function readTraining<O>(
  { place, ranges }: TrainingData,
  target: ObservationTarget<O>,
): Promise<ReadTraining> {
  await using topics = await openTopics(place)
  const leftOut = new LeftOutRecords()
  const reading = new RangesReading(ranges)
  let newestEventMs = -1
  for (const range of [...ranges].sort((a, b) => a.partition - b.partition)) {
    for await (const piece of target.read(topics, [range], leftOut.onBad)) {
      for (const observation of piece) {
        target.note(reading, observation)
        const timestamp = target.take(observation, leftOut.onBad)
        if (timestamp !== undefined) newestEventMs = newestOf(newestEventMs, timestamp)
      }
    }
  }
  return { leftOut: leftOut.found(), newestEventMs, read: reading.ranges }
}
