import { LogTopics } from '../../src/connectors/topics/log-topics.ts'
import type { TopicProducer } from '../../src/connectors/topics/store.ts'
import type { Random } from '../../src/core/random.ts'

/** Options of a load of ratings. */
export interface RatingLoadOptions {
  /** Folder of the embedded log. */
  readonly log: string
  readonly topic: string
  readonly users: number
  readonly items: number
  readonly perSecond: number
  readonly random: Random
}

const EVERY_MS = 100
const encoder = new TextEncoder()

/** A steady load of ratings of the present, so that the retention of their topic ends them. */
export class RatingLoad implements AsyncDisposable {
  sent = 0
  private readonly options: RatingLoadOptions
  private readonly topics: LogTopics
  private readonly producer: TopicProducer
  private going = true
  private readonly running: Promise<void>

  private constructor(options: RatingLoadOptions, topics: LogTopics, producer: TopicProducer) {
    this.options = options
    this.topics = topics
    this.producer = producer
    this.running = this.run()
  }

  /** Opens the topic and begins. */
  static async start(options: RatingLoadOptions): Promise<RatingLoad> {
    const topics = new LogTopics(options.log)
    return new RatingLoad(options, topics, await topics.producer(options.topic))
  }

  private async run(): Promise<void> {
    const { users, items, perSecond, random } = this.options
    const count = Math.ceil((perSecond * EVERY_MS) / 1000)
    while (this.going) {
      for (let i = 0; i < count; i++) {
        const user = String(1 + random.below(users))
        const line = `${user},${1 + random.below(items)},${1 + random.below(5)}`

        this.producer.sendRecord(encoder.encode(user), encoder.encode(line), Date.now(), -1, [])
      }
      await this.producer.sync()
      this.sent += count
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS))
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.going = false
    try {
      await this.running
    } finally {
      await this.producer.close()
      await this.topics[Symbol.asyncDispose]()
    }
  }
}
