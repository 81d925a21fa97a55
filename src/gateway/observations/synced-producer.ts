import type { TopicProducer } from '../../connectors/topics/store.ts'

/** A producer whose syncs follow each other: who comes while one runs shares the next one (group commit). */
export class SyncedProducer {
  readonly producer: TopicProducer
  /** The sync that runs, and the one that will begin after it. */
  private running: Promise<void> | undefined
  private next: Promise<void> | undefined

  constructor(producer: TopicProducer) {
    this.producer = producer
  }

  /** Resolves after a sync that began after this call. Rejects with its error. */
  sync(): Promise<void> {
    if (this.running === undefined) return this.start()
    this.next ??= this.running
      .catch(() => undefined)
      .then(() => {
        this.next = undefined
        return this.sync()
      })
    return this.next
  }

  private start(): Promise<void> {
    const sync = this.producer.sync()
    this.running = sync
    const ended = (): void => {
      this.running = undefined
    }
    sync.then(ended, ended)
    return sync
  }
}
