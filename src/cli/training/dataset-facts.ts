import { createHash, type Hash } from 'node:crypto'
import { withoutSettings } from '../../connectors/file/list.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import { type ObservationForm, readRanges } from '../../models/observations/compared-records.ts'
import { digestOfRanges } from '../../models/observations/ranges-reading.ts'
import { rangesOfTopic } from '../../models/observations/topic-ranges.ts'
import type { DataRange } from '../../models/registry/ranges/data-range.ts'
import {
  areSameObservations,
  ObservationsDigester,
} from '../../models/registry/ranges/observations-digest.ts'
import { newestOf, type TrainedOn } from '../../models/registry/ranges/trained-on.ts'
import type { CommandIo, Flags, OptionSpec } from '../command/command.ts'
import type { ReadFacts } from '../files/data-file.ts'
import { topicName } from '../flag-kinds/words.ts'

/** The flag of a training on a file whose observations are in a topic, too. */
export const IN_TOPIC_OPTION: Readonly<Record<string, OptionSpec>> = {
  'in-topic': {
    type: 'string',
    value: topicName,
    help: 'Topic that has the same observations: a job that learns from it begins at its end of now',
  },
}

/** Facts of the data that a training reads, gathered while it is read, for the version's lineage. */
export class DatasetFacts implements ReadFacts {
  private readonly hash: Hash = createHash('sha256')
  private ranges: readonly DataRange[] = []
  private newestEventMs = -1
  private readonly digester = new ObservationsDigester()

  /**
   * Notes the end of the topic of `--in-topic`, and what it has up to there; called before the file is read. Throws
   * UNKNOWN_TOPIC.
   */
  async readTopic(flags: Flags, topics: TopicStore, form: ObservationForm): Promise<void> {
    const topic = flags.optional('in-topic')
    if (topic === undefined) return
    this.ranges = await readRanges(topics, await rangesOfTopic(topics, topic), form)
  }

  onPiece(piece: Uint8Array): void {
    this.hash.update(piece)
  }

  onEvent(timestamp: number): void {
    this.newestEventMs = newestOf(this.newestEventMs, timestamp)
  }

  onRating(user: string, item: string, rating: number): void {
    this.digester.addRating(user, item, rating)
  }

  onExample(label: number, ids: Uint32Array, values: Float32Array, count: number): void {
    this.digester.addExample(label, ids, values, count)
  }

  /** The facts, once everything is read. `place`: of the files, without the settings of a URL in the result. */
  trainedOn(place: string, io: Pick<CommandIo, 'err'>): TrainedOn {
    const { ranges, newestEventMs } = this
    const file = withoutSettings(place)
    const sha256 = this.hash.digest('hex')
    const read = this.digester.digest
    const inTopic = digestOfRanges(ranges)
    if (ranges.length > 0 && areSameObservations(read, inTopic) === false) {
      io.err(
        `warning: topic ${ranges[0]!.topic} has ${inTopic!.count} observations, which are not the ${read.count} of ${file}: a job that learns begins after all of them`,
      )
    }
    return { files: [{ file, sha256, read }], ranges, newestEventMs }
  }
}
