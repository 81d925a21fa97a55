import { describe, expect, it } from 'vitest'
import { EmbeddedLogProducer } from '../../../src/connectors/log/producer.ts'
import type { LogWriter } from '../../../src/connectors/log/writer/log-writer.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { RecordBatchReader } from '../../../src/wire/batch/record-batch-reader.ts'

const LINGER_MS = 5

/** A log whose appends end when the test ends them; the values of each batch. */
function slowLog() {
  const batches: number[][] = []
  const ends: (() => void)[] = []
  const log = {
    append(_topic: string, _partition: number, batch: Uint8Array): Promise<number> {
      const reader = new RecordBatchReader()
      reader.open(batch, 0, true)
      const values: number[] = []
      while (reader.next()) values.push(reader.value()![0]!)
      batches.push(values)
      return new Promise((resolve) => ends.push(() => resolve(0)))
    },
  } as unknown as LogWriter
  const clock = new ManualClock()
  const target = { topic: 'topic', partitions: 1 }
  const producer = new EmbeddedLogProducer(log, target, { lingerMs: LINGER_MS, clock })
  const send = (value: number): void => producer.send(null, Uint8Array.of(value), -1)
  const linger = (): void => clock.advance(LINGER_MS)
  return { producer, batches, ends, send, linger }
}

describe('a producer whose records have waited for the linger time', () => {
  it('sends them with later records when one of two batches is acknowledged, in order', async () => {
    const { batches, ends, send, linger } = slowLog()
    for (const value of [1, 2, 3]) {
      send(value)
      linger()
    }
    send(4)
    expect(batches).toEqual([[1], [2]])
    ends[0]!()
    await new Promise((resolve) => setImmediate(resolve))
    expect(batches).toEqual([[1], [2], [3, 4]])
  })

  it('sends everything immediately when it dispatches', () => {
    const { producer, batches, send, linger } = slowLog()
    for (const value of [1, 2, 3]) {
      send(value)
      linger()
    }
    producer.dispatch()
    expect(batches).toEqual([[1], [2], [3]])
  })

  it.each([null, 5, { partition: -1 }, { partion: 0 }])(
    'refuses %o as the options of a record, and keeps those before it',
    async (options) => {
      const { producer, batches, send } = slowLog()
      send(1)
      const wrong = (): void => producer.send(null, Uint8Array.of(2), -1, options as never)
      expect(wrong).toThrow(
        expect.objectContaining({
          code: 'INVALID_ARGUMENT',
          message: expect.stringContaining('producer.send(...): '),
        }),
      )
      producer.dispatch()
      expect(batches).toEqual([[1]])
    },
  )

  it('sends nothing more once it is closed', () => {
    const { producer, batches, send, linger } = slowLog()
    send(1)
    producer.close()
    linger()
    expect(batches).toEqual([])
  })
})
