import type { TopicStore } from '../../connectors/topics/store.ts'
import type { Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import type { DecisionSink } from '../../inference/pipelines/decision-record.ts'
import { DecisionLog } from './decision-log.ts'

/** Options of the logs of a process. */
export interface DecisionLogsOptions {
  /** Opens the place of the topics, which belongs to the logs from then on; undefined where there is none. */
  readonly openTopics: (() => Promise<TopicStore>) | undefined
  readonly clock: Clock
  /** Called for each failure of a topic, until it works again. */
  readonly onFailure: (topic: string, error: WeirError) => void
}

/** The topics that the pipelines of a process write their decisions to; nothing is opened before the first of them. */
export class DecisionLogs implements AsyncDisposable {
  private readonly options: DecisionLogsOptions
  private store: Promise<TopicStore> | undefined
  private readonly logs = new Map<string, Promise<DecisionLog>>()

  constructor(options: DecisionLogsOptions) {
    this.options = options
  }

  /** What takes the decisions of a topic. Rejects with UNSUPPORTED without a place, and as the store does. */
  async open(topic: string): Promise<DecisionSink> {
    const known = this.logs.get(topic)
    if (known !== undefined) return await known
    const opening = this.opened(topic)
    this.logs.set(topic, opening)
    opening.catch(() => this.logs.delete(topic))
    return await opening
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const log of this.logs.values()) {
      await (await log.catch(() => undefined))?.[Symbol.asyncDispose]()
    }
    await (await this.store?.catch(() => undefined))?.[Symbol.asyncDispose]()
  }

  private async opened(topic: string): Promise<DecisionLog> {
    const { openTopics, clock, onFailure } = this.options
    if (openTopics === undefined) {
      const message = `this process has no log for decisions, and the pipeline names the topic "${topic}"; leave out "decisions"`
      throw new WeirError('UNSUPPORTED', message)
    }
    this.store ??= openTopics()
    this.store.catch(() => {
      this.store = undefined
    })
    const topics = await this.store
    return await DecisionLog.open({
      topics,
      topic,
      clock,
      onFailure: (error) => onFailure(topic, error),
    })
  }
}
