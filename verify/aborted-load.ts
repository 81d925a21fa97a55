import type { Producer } from 'kafkajs'
import { openTransactions } from './kafka/client.ts'

const EVERY_MS = 400
const RECORDS = 6
/** Amount of the records, which would change the hash of their key. */
const AMOUNT = '999'

/** A load of transactions that are all aborted: no job may count any of their records. */
export class AbortedLoad {
  private readonly brokers: string
  private readonly topic: string
  private readonly partitions: number
  private producer: Producer | undefined
  private going = true
  private sending = Promise.resolve()

  constructor(brokers: string, topic: string, partitions: number) {
    this.brokers = brokers
    this.topic = topic
    this.partitions = partitions
  }

  /** Starts the transactions. */
  start(): void {
    this.sending = this.send()
  }

  private async send(): Promise<void> {
    const { topic, partitions } = this
    const messages = Array.from({ length: RECORDS }, (_, i) => ({
      key: `k${i}`,
      value: AMOUNT,
      partition: i % partitions,
    }))
    while (this.going) {
      try {
        this.producer ??= await openTransactions(this.brokers, `${topic}-aborted`)
        const transaction = await this.producer.transaction()
        try {
          await transaction.send({ topic, messages, acks: -1 })
        } finally {
          await transaction.abort()
        }
      } catch {
        await this.producer?.disconnect().catch(() => undefined)
        this.producer = undefined
      }
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS))
    }
    await this.producer?.disconnect().catch(() => undefined)
  }

  /** Ends the load after the current transaction. */
  async stop(): Promise<void> {
    this.going = false
    await this.sending
  }
}
