import { describe, expect, it } from 'vitest'
import {
  ExchangeReceiver,
  type ExchangeRecord,
} from '../../../../src/cluster/scale-out/graph/exchange-receiver.ts'
import { OperatorHarness } from '../../../../src/testing/operator-harness.ts'

const watermark = (sender: number, time: number): ExchangeRecord => ({
  ...{ kind: 'watermark', sender, time, value: undefined },
})
const idle = (sender: number): ExchangeRecord => ({
  ...{ kind: 'idle', sender, time: 0, value: undefined },
})

describe('the receiver of an exchange', () => {
  it('emits values with their event times, and nothing for what else comes', async () => {
    const harness = await OperatorHarness.open<ExchangeRecord, string>({
      operator: new ExchangeReceiver(2),
    })
    harness.process({ kind: 'record', sender: 1, time: 5, value: 'a' }, 1_000)
    harness.process(watermark(0, 3))
    expect(harness.outputs.map(({ value, timestamp }) => ({ value, timestamp }))).toEqual([
      { value: 'a', timestamp: 5 },
    ])
  })

  it('has the smallest watermark of all senders, without those that are idle', async () => {
    const operator = new ExchangeReceiver(3)
    const harness = await OperatorHarness.open<ExchangeRecord, string>({ operator })
    harness.process(watermark(0, 30))
    harness.process(watermark(1, 20))
    expect(harness.watermarks).toEqual([])
    harness.process(idle(2))
    harness.process(watermark(1, 25))
    harness.process(watermark(2, 40))
    harness.process(watermark(1, 90))
    expect(harness.watermarks).toEqual([20, 25, 30])
  })

  it('is idle while all senders are', async () => {
    const operator = new ExchangeReceiver(2)
    const harness = await OperatorHarness.open<ExchangeRecord, string>({ operator })
    harness.process(idle(0))
    expect(operator.outputIdle()).toBe(false)
    harness.process(idle(1))
    expect(operator.outputIdle()).toBe(true)
    harness.process(watermark(0, 7))
    expect({ idle: operator.outputIdle(), watermark: operator.outputWatermark() }).toEqual({
      idle: false,
      watermark: 7,
    })
  })

  it('knows its senders after a restore, for they do not say it again', async () => {
    const before = await OperatorHarness.open<ExchangeRecord, string>({
      operator: new ExchangeReceiver(2),
    })
    before.process(watermark(0, 50))
    before.process(watermark(1, 60))
    const operator = new ExchangeReceiver(2)
    const after = await OperatorHarness.open<ExchangeRecord, string>({
      operator,
      restore: [await before.snapshot()],
    })
    expect(operator.outputWatermark()).toBe(50)
    after.process(watermark(0, 70))
    expect(operator.outputWatermark()).toBe(60)
  })
})
