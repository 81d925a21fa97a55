import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { interruption } from '../../../src/cli/command/interruption.ts'

function setUp() {
  const signals = new EventEmitter()
  const codes: number[] = []
  const time = { now: 1000 }
  const interrupted = interruption(
    signals,
    () => time.now,
    (code) => codes.push(code),
  )
  return { signals, codes, time, interrupted }
}

describe('an interruption', () => {
  it('is the first signal; the same press of Ctrl-C, sent again by npm, is not a second one', async () => {
    const { signals, codes, time, interrupted } = setUp()
    signals.emit('SIGINT', 'SIGINT')
    await interrupted
    time.now += 20
    signals.emit('SIGINT', 'SIGINT')
    expect(codes).toEqual([])
  })

  it('ends the process at a second press', () => {
    const { signals, codes, time } = setUp()
    signals.emit('SIGINT', 'SIGINT')
    time.now += 2000
    signals.emit('SIGTERM', 'SIGTERM')
    expect(codes).toEqual([143])
  })
})
