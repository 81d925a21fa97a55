import { describe, expect, it } from 'vitest'
import { plainKeySerializer } from '../../../src/core/formats/plain-key-serializer.ts'
import { OutputTag } from '../../../src/operators/port/output-tag.ts'
import type { KeyedProcessFunction } from '../../../src/operators/process/function.ts'
import { KeyedProcessOperator } from '../../../src/operators/process/keyed-process.ts'
import { valueState } from '../../../src/state/port/descriptors.ts'
import type { ValueState } from '../../../src/state/port/handles.ts'
import type { HarnessSnapshot } from '../../../src/testing/harness-snapshot.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'

interface Event {
  readonly user: string
  readonly amount: number
}

type Function<OUT> = KeyedProcessFunction<string, Event, OUT>

const keys = {
  selectors: [(event: Event) => event.user],
  serializer: plainKeySerializer(),
}

function open<OUT>(
  userFunction: Function<OUT>,
  options: {
    eventTime?: boolean
    restore?: HarnessSnapshot[]
    subtask?: number
    parallelism?: number
    clock?: ManualClock
  } = {},
): Promise<OperatorHarness<Event, OUT>> {
  const { eventTime = true, ...rest } = options
  const operator = new KeyedProcessOperator(userFunction, plainKeySerializer(), eventTime)
  return OperatorHarness.open<Event, OUT>({ operator, keys, ...rest })
}

class Sum implements Function<[string, number]> {
  private sum!: ValueState<number>

  open(context: Parameters<NonNullable<Function<unknown>['open']>>[0]): void {
    this.sum = context.getState(valueState<number>('sum'))
  }

  processElement(
    event: Event,
    context: { currentKey: string },
    out: { collect(value: [string, number]): void },
  ): void {
    const sum = (this.sum.value() ?? 0) + event.amount
    this.sum.update(sum)
    out.collect([context.currentKey, sum])
  }
}

describe('KeyedProcessOperator', () => {
  it('keeps state apart by key and decodes the current key', async () => {
    const harness = await open(new Sum())
    harness.process({ user: 'a', amount: 1 })
    harness.process({ user: 'b', amount: 10 })
    harness.process({ user: 'a', amount: 2 })
    expect(harness.values).toEqual([
      ['a', 1],
      ['b', 10],
      ['a', 3],
    ])
  })

  it.each([Number.NaN, 1.5, '5', new Date(5)])(
    'refuses to emit with the timestamp %s',
    async (time) => {
      const harness = await open<number>({
        processElement: (event, _, out) => out.collect(event.amount, time as never),
      })
      const call = () => harness.process({ user: 'a', amount: 1 }, 1)
      expect(call).toThrow('the timestamp of a result is')
    },
  )

  it('gives results of a timer at the last millisecond of 1969 a timestamp', async () => {
    const harness = await open<number>({
      processElement: (_, context) => context.timerService.registerEventTimeTimer(-1),
      onTimer: (timestamp, _, out) => out.collect(timestamp),
    })
    harness.process({ user: 'a', amount: 1 }, -5)
    harness.watermark(-1)
    expect(harness.outputs).toEqual([{ value: -1, timestamp: -2 }])
  })

  it('fires event-time timers in time order before it forwards the watermark', async () => {
    const order: string[] = []
    const harness = await open<string>({
      processElement: (event, context) => {
        context.timerService.registerEventTimeTimer(event.amount)
      },
      onTimer: (timestamp, context, out) => {
        order.push(`${context.currentKey}@${timestamp} ${context.timeDomain}`)
        expect(harness.watermarks).toEqual([])
        out.collect(context.currentKey)
      },
    })
    harness.process({ user: 'late', amount: 30 })
    harness.process({ user: 'b', amount: 20 })
    harness.process({ user: 'a', amount: 10 })
    harness.watermark(20)
    expect(order).toEqual(['a@10 event-time', 'b@20 event-time'])
    expect(harness.watermarks).toEqual([20])
    expect(harness.outputs).toEqual([
      { value: 'a', timestamp: 10 },
      { value: 'b', timestamp: 20 },
    ])
  })

  it('fires a timer that onTimer registers within the watermark in the same pass', async () => {
    const harness = await open<number>({
      processElement: (_, context) => context.timerService.registerEventTimeTimer(1),
      onTimer: (timestamp, context, out) => {
        out.collect(timestamp)
        context.timerService.registerEventTimeTimer(timestamp * 2)
      },
    })
    harness.process({ user: 'a', amount: 0 })
    harness.watermark(5)
    expect(harness.take()).toEqual([1, 2, 4])
    harness.watermark(8)
    expect(harness.take()).toEqual([8])
  })

  it('registers a timer once and does not fire a deleted one', async () => {
    const harness = await open<number>({
      processElement: (event, { timerService }) => {
        if (event.amount < 0) timerService.deleteEventTimeTimer(-event.amount)
        else timerService.registerEventTimeTimer(event.amount)
      },
      onTimer: (timestamp, _, out) => out.collect(timestamp),
    })
    for (const amount of [7, 7, 9, -9]) harness.process({ user: 'a', amount })
    harness.endInput()
    expect(harness.values).toEqual([7])
  })

  it('fires processing-time timers when the wall clock reaches them', async () => {
    const harness = await open<string>({
      processElement: (event, { timerService }) => {
        timerService.registerProcessingTimeTimer(timerService.currentProcessingTime + event.amount)
      },
      onTimer: (timestamp, context, out) =>
        out.collect(`${context.currentKey}@${timestamp} ${context.timeDomain}`),
    })
    harness.process({ user: 'slow', amount: 50 })
    harness.process({ user: 'quick', amount: 10 })
    harness.advanceTime(10)
    expect(harness.take()).toEqual(['quick@10 processing-time'])
    harness.advanceTime(40)
    expect(harness.take()).toEqual(['slow@50 processing-time'])
  })

  it('fires restored processing-time timers, both due and future ones', async () => {
    const timers: Function<number> = {
      processElement: (event, { timerService }) =>
        timerService.registerProcessingTimeTimer(event.amount),
      onTimer: (timestamp, _, out) => out.collect(timestamp),
    }
    const before = await open(timers)
    before.process({ user: 'a', amount: 10 })
    before.process({ user: 'b', amount: 2000 })
    const restored = await open(timers, {
      restore: [await before.snapshot()],
      clock: new ManualClock(1000),
    })
    restored.advanceTime(0)
    expect(restored.take()).toEqual([10])
    restored.advanceTime(1000)
    expect(restored.take()).toEqual([2000])
  })

  it('restores state and event-time timers at another parallelism, each key once', async () => {
    const counted: () => Function<string> = () => ({
      processElement: (_, { timerService }) => timerService.registerEventTimeTimer(100),
      onTimer: (_, context, out) => out.collect(context.currentKey),
    })
    const users = Array.from({ length: 50 }, (_, i) => `user-${i}`)
    const before = await open(counted())
    for (const user of users) before.process({ user, amount: 1 })
    const snapshot = await before.snapshot()
    const fired: string[] = []
    for (let subtask = 0; subtask < 3; subtask++) {
      const part = await open(counted(), { restore: [snapshot], subtask, parallelism: 3 })
      part.watermark(100)
      expect(part.values.length).toBeGreaterThan(0)
      fired.push(...part.values)
    }
    expect(fired.sort()).toEqual([...users].sort())
  })

  it('sends side outputs with the timestamp of the record', async () => {
    const tag = new OutputTag<number>('big')
    const harness = await open<number>({
      processElement: (event, context) => context.output(tag, event.amount),
    })
    harness.process({ user: 'a', amount: 5 }, 77)
    expect(harness.sideOutput(tag)).toEqual([{ value: 5, timestamp: 77 }])
    expect(harness.values).toEqual([])
  })

  it('refuses an event-time timer without watermarks, and names the operator', async () => {
    const harness = await open<number>(
      { processElement: (_, { timerService }) => timerService.registerEventTimeTimer(5) },
      { eventTime: false },
    )
    expect(() => harness.process({ user: 'a', amount: 1 })).toThrow(
      /operator "operator" registers an event-time timer, but no watermarks reach it/,
    )
  })

  it('refuses to open on a stream that is not keyed', async () => {
    const operator = new KeyedProcessOperator(new Sum(), plainKeySerializer(), true)
    await expect(OperatorHarness.open({ operator })).rejects.toThrow(/its input is not keyed/)
  })
})

it('refuses an async function at its first promise, in processElement and onTimer', async () => {
  const asynchronous = await open<never>({
    async processElement() {
      await Promise.resolve()
    },
  })
  const refused = expect.objectContaining({ code: 'UNSUPPORTED' })
  expect(() => asynchronous.process({ user: 'a', amount: 1 }, 1)).toThrow(refused)
  const timer = await open<never>({
    processElement: (_, context) => context.timerService.registerEventTimeTimer(5),
    async onTimer() {
      await Promise.resolve()
    },
  })
  timer.process({ user: 'a', amount: 1 }, 1)
  expect(() => timer.watermark(10)).toThrow(refused)
})
