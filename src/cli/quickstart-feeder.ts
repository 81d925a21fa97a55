import type { TopicStore } from '../connectors/topics/topic-store.ts'
import { systemClock } from '../core/clock.ts'
import { feedRatings, ratingsOfTopic } from '../jobs/ratings-topic.ts'
import type { Rating } from '../models/rating.ts'
import { ratingsTable } from '../training/ratings-table.ts'
import type { LoopStream } from './quickstart-stream.ts'

/** Where the stream goes. */
export interface FeederOptions {
  readonly stream: LoopStream
  readonly topics: TopicStore
  /** Topic of observations. */
  readonly topic: string
  /** Name of the stream there. */
  readonly feed: string
}

/** Appends the stream to the observations topic, from where an earlier start ended. */
export class StreamFeeder {
  private readonly options: FeederOptions
  private fedCount: number

  private constructor(options: FeederOptions, fed: number) {
    this.options = options
    this.fedCount = fed
  }

  /** Looks how much of the stream is in the topic already. */
  static async open(options: FeederOptions): Promise<StreamFeeder> {
    const { fed } = await ratingsOfTopic(options.topics, options.topic, options.feed)
    return new StreamFeeder(options, fed)
  }

  /** Ratings of the stream that are in the topic. */
  get fed(): number {
    return this.fedCount
  }

  /** Ratings before the drift that are not. */
  get calmLeft(): number {
    return Math.max(0, this.options.stream.calm.length - this.fedCount)
  }

  /** Ratings after the drift that are in the topic, and that are not. */
  get drifted(): { readonly fed: number; readonly left: number } {
    const { calm, drifted } = this.options.stream
    const fed = Math.max(0, this.fedCount - calm.length)
    return { fed, left: drifted.length - fed }
  }

  /** Feeds the next ones, at most `count`, all from before or all from after the drift. */
  async next(count: number): Promise<readonly Rating[]> {
    const { stream, topics, topic, feed } = this.options
    const { calm, drifted } = stream
    const at = this.fedCount - calm.length
    const ratings =
      at < 0
        ? calm.slice(this.fedCount, Math.min(this.fedCount + count, calm.length))
        : drifted.slice(at, at + count)
    if (ratings.length === 0) return ratings
    await feedRatings(ratingsTable(ratings), { topics, topic, feed, clock: systemClock })
    this.fedCount += ratings.length
    return ratings
  }
}
