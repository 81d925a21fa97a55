import { describe, expect, it } from 'vitest'
import {
  type DeadLetterProducer,
  DeadLetters,
} from '../../../src/connectors/records/dead-letters.ts'
import type { RecordView } from '../../../src/connectors/records/topic-record.ts'

function record(offset: number): RecordView {
  const bytes = new TextEncoder().encode(`v${offset}`)
  return {
    bytes,
    keyStart: 0,
    keyLength: -1,
    valueStart: 0,
    valueLength: bytes.length,
    timestamp: 1,
    offset,
    key: () => null,
    value: () => bytes,
    headers: () => [],
    header: () => undefined,
  }
}

/** A producer whose sends become durable, or fail, when the test says so. */
class HeldProducer implements DeadLetterProducer {
  sent = 0
  dispatches = 0
  acknowledge: () => void = () => undefined
  fail: (error: Error) => void = () => undefined

  sendRecord(): void {
    this.sent += 1
  }

  ready(): boolean {
    return this.sent < 3
  }

  dispatch(): void {
    this.dispatches += 1
  }

  settled(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.acknowledge = resolve
      this.fail = reject
    })
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('dead letters', () => {
  it('of one poll share a batch, and those copied meanwhile follow', async () => {
    const producer = new HeldProducer()
    let settled = 0
    const letters = new DeadLetters(producer, 't', () => void settled++)
    letters.copy(record(1), 0, new Error('bad'))
    letters.copy(record(2), 0, new Error('bad'))
    await turn()
    expect(producer).toMatchObject({ sent: 2, dispatches: 1 })
    letters.copy(record(3), 0, new Error('bad'))
    producer.acknowledge()
    await turn()
    expect(producer).toMatchObject({ sent: 3, dispatches: 2 })
    expect({ settled, isSettled: letters.isSettled }).toEqual({ settled: 0, isSettled: false })
    producer.acknowledge()
    await letters.settled()
    expect({ settled, isSettled: letters.isSettled }).toEqual({ settled: 1, isSettled: true })
  })

  it('stop the reading while too many are in flight', () => {
    const letters = new DeadLetters(new HeldProducer(), 't', () => undefined)
    for (let i = 0; i < 3; i++) {
      expect(letters.ready).toBe(true)
      letters.copy(record(i), 0, new Error('bad'))
    }
    expect(letters.ready).toBe(false)
  })

  it('fail the checkpoint that waits for them, and every poll after it', async () => {
    const producer = new HeldProducer()
    const letters = new DeadLetters(producer, 't', () => undefined)
    letters.copy(record(1), 0, new Error('bad'))
    const settled = letters.settled()
    await turn()
    producer.fail(new Error('no broker'))
    await expect(settled).rejects.toThrow('no broker')
    expect(() => letters.throwFailure()).toThrow('no broker')
  })
})
