import { describe, expect, it } from 'vitest'
import { left, openFormerJoin, openJoin, right } from './join-harness.ts'

describe('the timers of an interval join', () => {
  it('are one for each key, however many records wait', async () => {
    const join = await openJoin([-5, 10])
    for (let time = 0; time < 50; time++) {
      right(join, time)
      left(join, time)
    }
    expect(join.harness.numEventTimeTimers()).toBe(1)
    join.harness.watermark(30)
    // Of the left side the records after 20 wait, of the right one those after 25.
    expect(join.harness.numKeyedStateEntries()).toBe(29 + 24)
    expect(join.harness.numEventTimeTimers()).toBe(1)
    join.harness.watermark(59)
    expect(join.harness.numKeyedStateEntries()).toBe(0)
    expect(join.harness.numEventTimeTimers()).toBe(0)
  })

  it('remove a record at its last moment, and one that came at that moment with the next watermark', async () => {
    const join = await openJoin([0, 10])
    left(join, 100)
    join.harness.watermark(109)
    right(join, 110)
    expect(join.harness.take()).toEqual(['100 110'])
    join.harness.watermark(110)
    right(join, 110)
    expect(join.harness.take()).toEqual([])
    // The right side waits for nothing later: its record is due as soon as it comes.
    left(join, 110)
    expect(join.harness.take()).toEqual(['110 110'])
    join.harness.watermark(111)
    expect(join.harness.numKeyedStateEntries()).toBe(1)
  })

  it('go on in the middle of a watermark after a restore', async () => {
    const before = await openJoin([0, 10])
    for (let time = 0; time < 2500; time++) left(before, time)
    before.operator.processWatermark(2400)
    expect(before.operator.fireDue(1)).toBe(1)
    const waiting = before.harness.numKeyedStateEntries()
    expect(waiting).toBeGreaterThan(109)
    expect(waiting).toBeLessThan(2500)
    const after = await openJoin([0, 10], [await before.harness.snapshot(2)])
    after.harness.watermark(2400)
    expect(after.harness.numKeyedStateEntries()).toBe(109)
    right(after, 2400)
    expect(after.harness.take()).toEqual(Array.from({ length: 10 }, (_, n) => `${2391 + n} 2400`))
    after.harness.watermark(3000)
    expect((await after.harness.snapshot(3)).entries).toEqual([])
  })

  it('of a former release, one for each record, end with their records', async () => {
    const former = await openFormerJoin([-5, 10])
    for (let time = 0; time < 20; time++) {
      left(former, time)
      right(former, time)
    }
    former.harness.watermark(12)
    former.harness.take()
    expect(former.harness.numEventTimeTimers()).toBeGreaterThan(10)
    const join = await openJoin([-5, 10], [await former.harness.snapshot()])
    right(join, 13)
    expect(join.harness.take()).toEqual(Array.from({ length: 16 }, (_, n) => `${n + 3} 13`))
    join.harness.watermark(25)
    left(join, 26)
    expect(join.harness.numKeyedStateEntries()).toBe(5)
    join.harness.watermark(100)
    expect((await join.harness.snapshot(2)).entries).toEqual([])
  })

  it('are none before the end of time for bounds without an end', async () => {
    const join = await openJoin([0, Number.MAX_SAFE_INTEGER])
    left(join, 5)
    join.harness.watermark(1e15)
    right(join, 1e15)
    expect(join.harness.take()).toEqual([`5 ${1e15}`])
    join.harness.endInput(2)
    expect(join.harness.numKeyedStateEntries()).toBe(0)
  })
})
