import { setTimeout as sleep } from 'node:timers/promises'
import { KafkaSource } from '../../src/connectors/kafka/source.ts'
import { systemClock } from '../../src/core/clock.ts'
import { MetricGroup } from '../../src/core/metrics.ts'
import type { Folded } from '../../test/recovery/fold/job.ts'

const decoder = new TextDecoder()
const LOOK_MS = 20

/** The results that a reader of committed records sees while the job runs. */
export class VisibleResults {
  /** Highest count by key. */
  readonly counts = new Map<string, number>()
  private readonly brokers: string
  private readonly topic: string
  private isOver = false
  private reading: Promise<void> = Promise.resolve()
  private readonly seen: (result: Folded) => void

  /** @param seen called with each result */
  constructor(brokers: string, topic: string, seen: (result: Folded) => void = () => undefined) {
    this.brokers = brokers
    this.topic = topic
    this.seen = seen
  }

  /** Starts reading. */
  start(): void {
    this.reading = this.read()
    this.reading.catch(() => undefined)
  }

  /** Ends reading; rejects where it failed. */
  async stop(): Promise<void> {
    this.isOver = true
    await this.reading
  }

  private async read(): Promise<void> {
    const source = KafkaSource.raw({ brokers: this.brokers, topic: this.topic })
    const reader = source.createReader()
    const where = { subtask: 0, parallelism: 1 }
    await reader.open({ ...where, clock: systemClock, metrics: new MetricGroup() })
    try {
      const partitions = await source.discover()
      await reader.addSplits(partitions.map((partition) => ({ partition, nextOffset: -1 })))
      const output = {
        collect: ({ value }: { readonly value: Uint8Array | null }) => this.take(value),
        progress: () => undefined,
      }
      while (!this.isOver) {
        if (reader.poll(output, 1_000) !== 'more') await sleep(LOOK_MS)
      }
    } finally {
      await reader.close()
    }
  }

  private take(value: Uint8Array | null): void {
    const result: Folded = JSON.parse(decoder.decode(value ?? new Uint8Array()))
    const { key, count } = result
    this.counts.set(key, Math.max(count, this.counts.get(key) ?? 0))
    this.seen(result)
  }
}
