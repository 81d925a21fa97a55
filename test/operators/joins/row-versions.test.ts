import { describe, expect, it } from 'vitest'
import { plainKeySerializer } from '../../../src/core/formats/plain-key-serializer.ts'
import { DelayedCoProcessOperator } from '../../../src/operators/joins/delayed-co-process.ts'
import { TemporalTableJoin } from '../../../src/operators/joins/temporal-join.ts'
import { STORED_WATERMARKS } from '../../../src/operators/port/stored-watermark.ts'
import type { HarnessSnapshot } from '../../../src/testing/harness-snapshot.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'

interface Input {
  readonly key: string
  readonly value: string | null
}

async function open(restore: readonly HarnessSnapshot[] = [], graceMs = 0, historyMs = 0) {
  const join = new TemporalTableJoin<Input, string, string, string>(
    { keyOf: ({ key }) => key, join: ({ value }, row) => `${value} ${row}`, isLeft: true },
    { graceMs, historyMs, lateTag: undefined },
  )
  const operator = new DelayedCoProcessOperator(join, plainKeySerializer<string>(), {
    eventTime: true,
    watermarkDelayMs: graceMs,
  })
  const key = ({ key }: Input): string => key
  const keys = { selectors: [key, key], serializer: plainKeySerializer() }
  const harness = await OperatorHarness.open<Input, string>({ operator, keys, restore })
  return {
    harness,
    ask: (time: number) => harness.process({ key: 'a', value: `${time}` }, time, { input: 0 }),
    set: (time: number, value: string | null) =>
      harness.process({ key: 'a', value }, time, { input: 1 }),
  }
}

const withoutWatermarks = (snapshot: HarnessSnapshot): HarnessSnapshot => ({
  ...snapshot,
  operatorState: snapshot.operatorState.filter(({ name }) => name !== STORED_WATERMARKS),
})

describe('the versions of a row', () => {
  it('are the newest one that can still be asked, and all later ones', async () => {
    const { harness, set } = await open([], 10, 20)
    for (const time of [100, 110, 120, 130]) set(time, `v${time}`)
    expect(harness.numKeyedStateEntries()).toBe(4)
    harness.watermark(139)
    expect(harness.numKeyedStateEntries()).toBe(4)
    harness.watermark(140)
    expect(harness.numKeyedStateEntries()).toBe(3)
    harness.watermark(10_000)
    expect(harness.numKeyedStateEntries()).toBe(1)
    set(20_000, null)
    harness.watermark(20_029)
    expect(harness.numKeyedStateEntries()).toBe(2)
    harness.watermark(20_030)
    expect(harness.numKeyedStateEntries()).toBe(0)
    expect(harness.numEventTimeTimers()).toBe(0)
  })

  it('that are gone make older records late, also where a restore sets the watermark back', async () => {
    const before = await open()
    before.set(100, 'old')
    before.set(200, null)
    before.set(300, 'new')
    before.harness.watermark(250)
    const snapshot = withoutWatermarks(await before.harness.snapshot())
    const { harness, ask } = await open([snapshot])
    ask(150)
    ask(260)
    ask(310)
    harness.watermark(400)
    expect(harness.values).toEqual(['260 undefined', '310 new'])
    expect(harness.metrics.snapshot()).toMatchObject({ numLateRecordsDropped: 1 })
  })

  it('stay where all inputs have ended, for a job that goes on from a savepoint of the end', async () => {
    const before = await open()
    before.set(100, 'old')
    before.set(200, 'new')
    before.harness.endInput(2)
    const { harness, ask } = await open([await before.harness.snapshot()])
    ask(150)
    ask(250)
    harness.watermark(300)
    expect(harness.values).toEqual(['150 old', '250 new'])
    harness.watermark(400)
    expect(harness.numKeyedStateEntries()).toBeLessThanOrEqual(2)
  })

  it('count a change that comes after the records of its time, and one that comes too late', async () => {
    const { harness, set, ask } = await open([], 0, 50)
    set(100, 'old')
    ask(160)
    harness.watermark(200)
    set(155, 'late')
    set(149, 'too late')
    ask(159)
    expect(harness.values).toEqual(['160 old', '159 late'])
    expect(harness.metrics.snapshot()).toMatchObject({
      numLateRowChanges: 1,
      numLateRowChangesDropped: 1,
    })
  })

  it('need a time: a record or change without one counts as late', async () => {
    const { harness, set, ask } = await open()
    set(-1, 'x')
    ask(-1)
    expect(harness.metrics.snapshot()).toMatchObject({
      numLateRecordsDropped: 1,
      numLateRowChangesDropped: 1,
    })
    expect(harness.values).toEqual([])
  })
})
