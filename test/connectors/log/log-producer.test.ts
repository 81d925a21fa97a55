import { describe, expect, it } from 'vitest'
import { RecordBatchReader } from '../../../src/batch/record-batch-reader.ts'
import type { LogBackend } from '../../../src/connectors/log/log-backend.ts'
import { EmbeddedLogProducer } from '../../../src/connectors/log/log-producer.ts'

/** A log whose appends end when they are told to; the values of each batch. */
function slowLog() {
  const batches: number[][] = []
  const ends: (() => void)[] = []
  const backend = {
    append(_topic: string, _partition: number, batch: Uint8Array): Promise<number> {
      const reader = new RecordBatchReader()
      reader.open(batch, 0, true)
      const values: number[] = []
      while (reader.next()) values.push(reader.value()![0]!)
      batches.push(values)
      return new Promise((resolve) => ends.push(() => resolve(0)))
    },
  } as unknown as LogBackend
  const producer = new EmbeddedLogProducer(backend, 'topic', 1)
  const send = (value: number): void => producer.send(null, Uint8Array.of(value), -1)
  return { producer, batches, ends, send }
}

describe('a producer whose records have waited for others', () => {
  it('sends them with what comes until one of two batches has arrived, in order', async () => {
    const { producer, batches, ends, send } = slowLog()
    for (const value of [1, 2, 3]) {
      send(value)
      producer.lingered()
    }
    send(4)
    expect(batches).toEqual([[1], [2]])
    ends[0]!()
    await new Promise((resolve) => setImmediate(resolve))
    expect(batches).toEqual([[1], [2], [3, 4]])
  })

  it('sends everything at once when it is told to', () => {
    const { producer, batches, send } = slowLog()
    for (const value of [1, 2, 3]) {
      send(value)
      producer.lingered()
    }
    producer.dispatch()
    expect(batches).toEqual([[1], [2], [3]])
  })
})
