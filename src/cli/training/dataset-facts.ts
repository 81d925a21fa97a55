import { createHash, type Hash } from 'node:crypto'
import type { TopicStore } from '../../connectors/topics/store.ts'
import { rangesOfTopic } from '../../jobs/retrain/observations.ts'
import { newestOf, type TrainedOn } from '../../models/registry/trained-on.ts'
import type { DataRange } from '../../models/registry/version.ts'
import type { Flags, OptionSpec } from '../command/command.ts'
import { type ReadFacts, withoutSettings } from '../files/data-file.ts'
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

  /** Notes the end of the topic of `--in-topic`; called before the file is read. Throws UNKNOWN_TOPIC. */
  async readTopic(flags: Flags, topics: TopicStore): Promise<void> {
    const topic = flags.optional('in-topic')
    if (topic !== undefined) this.ranges = await rangesOfTopic(topics, topic)
  }

  onPiece(piece: Uint8Array): void {
    this.hash.update(piece)
  }

  onEvent(timestamp: number): void {
    this.newestEventMs = newestOf(this.newestEventMs, timestamp)
  }

  /** The facts, once everything is read. `place`: of the files, without the settings of a URL in the result. */
  trainedOn(place: string): TrainedOn {
    const { ranges, newestEventMs } = this
    const file = withoutSettings(place)
    return { files: [{ file, sha256: this.hash.digest('hex') }], ranges, newestEventMs }
  }
}
