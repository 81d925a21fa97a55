import { beforeEach, describe, expect, it } from 'vitest'
import { Histogram } from '../../../src/core/metrics.ts'
import type { SliceEnd } from '../../../src/runtime/slot/scheduler.ts'
import { SlotTurn } from '../../../src/runtime/slot/turn.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

let end: SliceEnd
let isFlushDue: boolean
let hasDelivered: boolean
let flushes: number
let ticks: boolean[]
let copied: boolean
let hasScans: boolean
let budgets: number[]
/** Turns whose calls have not ended. */
let calls: number
let turn: SlotTurn

beforeEach(() => {
  end = 'idle'
  isFlushDue = true
  hasDelivered = false
  flushes = 0
  ticks = []
  copied = false
  hasScans = false
  budgets = []
  calls = 1
  turn = new SlotTurn({
    clock: new ManualClock(0),
    queries: {
      answer: (budgetMs) => budgets.push(budgetMs),
      isWaiting: false,
      get hasScans() {
        return hasScans
      },
    },
    scheduler: {
      process: () => end,
      tick: (_nowMs, outOfInput) => ticks.push(outOfInput),
      get isFlushDue() {
        return isFlushDue
      },
      flush: () => {
        flushes += 1
      },
      nextTickMs: () => undefined,
    },
    exchange: {
      beginTurn() {},
      takeDelivered: () => false,
      endTurn: () => hasDelivered,
      flush() {},
    },
    copy: () => copied,
    endCalls: () => {
      calls -= 1
    },
    latency: new Histogram(),
  })
})

describe('SlotTurn', () => {
  it('says at its end that no call is under way', () => {
    turn.run()
    expect(calls).toBe(0)
  })

  it('gives queries a quarter of the time of records', () => {
    end = 'drained'
    turn.run()
    turn.run()
    expect(budgets).toEqual([0.25, 0.25])
  })

  it('gives queries a whole slice after a turn without records', () => {
    turn.run()
    turn.run()
    end = 'drained'
    turn.run()
    turn.run()
    expect(budgets).toEqual([0.25, 1, 1, 0.25])
  })

  it('gives queries a quarter while state is copied for a checkpoint', () => {
    turn.run()
    copied = true
    turn.run()
    turn.run()
    expect(budgets).toEqual([0.25, 1, 0.25])
  })

  it('gives queries a quarter while a scan waits', () => {
    turn.run()
    hasScans = true
    turn.run()
    expect(budgets).toEqual([0.25, 0.25])
  })

  it('rests after a turn that has done and sent all there was', () => {
    end = 'drained'
    expect(turn.run().more).toBe(false)
    expect([flushes, ticks]).toEqual([1, [true]])
  })

  it('turns again when what it sent goes to a subtask of the slot', () => {
    end = 'drained'
    hasDelivered = true
    expect(turn.run().more).toBe(true)
  })

  it('turns again while the time of the slice was too short', () => {
    end = 'more'
    expect(turn.run().more).toBe(true)
    expect([flushes, ticks]).toEqual([1, [false]])
  })

  it('turns again when what was emitted waits for the buffer timeout, and sends it when nothing is left', () => {
    end = 'drained'
    isFlushDue = false
    expect(turn.run().more).toBe(true)
    expect([flushes, ticks]).toEqual([0, [false]])
    end = 'idle'
    expect(turn.run().more).toBe(false)
    expect([flushes, ticks]).toEqual([1, [false, true]])
  })
})
