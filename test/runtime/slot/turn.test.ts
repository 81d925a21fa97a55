import { beforeEach, describe, expect, it } from 'vitest'
import { Histogram } from '../../../src/core/metrics.ts'
import { SlotTurn } from '../../../src/runtime/slot/turn.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

let worked: boolean
let copied: boolean
let hasScans: boolean
let budgets: number[]
let turn: SlotTurn

beforeEach(() => {
  worked = false
  copied = false
  hasScans = false
  budgets = []
  turn = new SlotTurn({
    clock: new ManualClock(0),
    queries: {
      answer: (budgetMs) => budgets.push(budgetMs),
      isWaiting: false,
      get hasScans() {
        return hasScans
      },
    },
    scheduler: { process: () => worked, tick() {}, flush() {}, nextTickMs: () => undefined },
    exchange: { flush() {} },
    copy: () => copied,
    latency: new Histogram(),
  })
})

describe('SlotTurn', () => {
  it('gives queries a quarter of the time of records', () => {
    worked = true
    turn.run()
    turn.run()
    expect(budgets).toEqual([0.25, 0.25])
  })

  it('gives queries a whole slice after a turn without records', () => {
    turn.run()
    turn.run()
    worked = true
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
})
