import { describe, expect, it } from 'vitest'
import {
  BatchingProducer,
  type BatchingSettings,
} from '../../../src/connectors/records/batching-producer.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { RecordBatchReader } from '../../../src/wire/batch/record-batch-reader.ts'
import type { RecordBatchWriter } from '../../../src/wire/batch/record-batch-writer.ts'

interface Appended {
  readonly partition: number
  readonly values: readonly number[]
  resolve(): void
  reject(error: unknown): void
}

/** A producer whose appends end when the test ends them. */
class ProducerUnderTest extends BatchingProducer {
  readonly appended: Appended[] = []

  constructor(settings: Partial<BatchingSettings> = {}) {
    super({
      topic: 't',
      partitions: 2,
      batchBytes: 1000,
      maxInFlightBytes: 1_000_000,
      maxInFlightBatches: 1,
      lingerMs: undefined,
      clock: new ManualClock(),
      ...settings,
    })
  }

  protected override takeBatch(_partition: number, writer: RecordBatchWriter) {
    return writer.take()
  }

  protected override append(partition: number, batch: Uint8Array<ArrayBuffer>): Promise<number> {
    const reader = new RecordBatchReader()
    reader.open(batch, 0)
    const values: number[] = []
    while (reader.next()) values.push(reader.value()![0]!)
    return new Promise((resolve, reject) => {
      this.appended.push({ partition, values, resolve: () => resolve(-1), reject })
    })
  }

  send(value: number, partition = -1, bytes = 1): void {
    this.sendRecord(null, new Uint8Array(bytes).fill(value), -1, partition, [])
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('a batching producer', () => {
  it('appends a batch when it is full and takes the next partition for records without a key', () => {
    const producer = new ProducerUnderTest()
    producer.send(1)
    producer.send(2, -1, 900)
    producer.send(3, -1, 80)
    producer.send(4)
    producer.dispatch()
    expect(producer.appended).toMatchObject([
      { partition: 0, values: [1] },
      { partition: 0, values: [2] },
      { partition: 1, values: [3, 4] },
    ])
  })

  it('appends what is gathered before a large record, which is alone in its batch', () => {
    const producer = new ProducerUnderTest()
    producer.send(1, 0)
    producer.send(2, 0, 5000)
    producer.send(3, 0)
    producer.dispatch()
    expect(producer.appended.map(({ values }) => values)).toEqual([[1], [2], [3]])
  })

  it('appends records whose linger time is over when the batch before is acknowledged', async () => {
    const clock = new ManualClock()
    const producer = new ProducerUnderTest({ lingerMs: 5, clock })
    producer.send(1, 0)
    clock.advance(5)
    producer.send(2, 0)
    clock.advance(5)
    expect(producer.appended).toHaveLength(1)
    producer.appended[0]!.resolve()
    await settled()
    expect(producer.appended[1]).toMatchObject({ partition: 0, values: [2] })
  })

  it('is not ready while too many bytes are in flight', async () => {
    const producer = new ProducerUnderTest({ maxInFlightBytes: 10 })
    producer.send(1)
    expect(producer.ready()).toBe(true)
    producer.dispatch()
    expect(producer.ready()).toBe(false)
    let isReady = false
    const waiting = producer.whenReady().then(() => {
      isReady = true
    })
    await settled()
    expect(isReady).toBe(false)
    producer.appended[0]!.resolve()
    await waiting
    expect(producer.ready()).toBe(true)
  })

  it('throws the failure of an append for all later records, and wakes waiting callers', async () => {
    const producer = new ProducerUnderTest({ maxInFlightBytes: 10 })
    producer.send(1)
    const flushing = producer.flush()
    const waiting = producer.whenReady()
    producer.appended[0]!.reject(new Error('disk full'))
    await expect(flushing).rejects.toThrow('disk full')
    await waiting
    expect(() => producer.send(2)).toThrow('disk full')
  })

  it('rejects a partition that the topic does not have', () => {
    expect(() => new ProducerUnderTest().send(1, 2)).toThrow(/no partition 2/)
  })
})
