import { describe, expect, it } from 'vitest'
import { float64Serializer, type Serializer } from '../../../src/core/serializer.ts'
import { MAX_TIMESTAMP } from '../../../src/core/time.ts'
import type { AsyncFunction } from '../../../src/operators/async/function.ts'
import {
  type AsyncRetryStrategy,
  fixedDelayRetry,
} from '../../../src/operators/async/retry-strategy.ts'
import { AsyncWaitOperator } from '../../../src/operators/async/wait-operator.ts'
import type { OperatorContext } from '../../../src/operators/port/operator.ts'
import type { HarnessSnapshot } from '../../../src/testing/harness-snapshot.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'

/** A service whose answers the test gives. */
class Service implements AsyncFunction<number, string> {
  /** Records in the order of their calls. */
  readonly calls: number[] = []
  private readonly promises = new Map<number, PromiseWithResolvers<readonly string[]>>()

  asyncInvoke(value: number): Promise<readonly string[]> {
    this.calls.push(value)
    const answer = Promise.withResolvers<readonly string[]>()
    this.promises.set(value, answer)
    return answer.promise
  }

  answer(...values: readonly number[]): void {
    for (const value of values) this.promises.get(value)!.resolve([`answer ${value}`])
  }

  refuse(value: number): void {
    this.promises.get(value)!.reject(new Error(`no answer for ${value}`))
  }
}

const DEFAULTS = {
  mode: 'ordered',
  capacity: 10,
  timeoutMs: undefined,
  retryStrategy: undefined,
  serializer: float64Serializer as Serializer<unknown>,
} as const

interface Settings {
  readonly service?: AsyncFunction<number, string>
  readonly mode?: 'ordered' | 'unordered'
  readonly capacity?: number
  readonly timeoutMs?: number
  readonly retryStrategy?: AsyncRetryStrategy<string>
  readonly clock?: ManualClock
  readonly restore?: readonly HarnessSnapshot[]
  readonly subtask?: number
  readonly parallelism?: number
}

async function open(settings: Settings): Promise<{
  readonly operator: AsyncWaitOperator<number, string>
  readonly harness: OperatorHarness<number, string>
}> {
  const { service = new Service(), mode, capacity, timeoutMs, retryStrategy, ...options } = settings
  const operator = new AsyncWaitOperator<number, string>({
    ...DEFAULTS,
    userFunction: service,
    timeoutMs,
    retryStrategy,
    ...(mode === undefined ? {} : { mode }),
    ...(capacity === undefined ? {} : { capacity }),
  })
  return { operator, harness: await OperatorHarness.open({ ...options, operator }) }
}

describe('asynchronous I/O', () => {
  it('emits the results in the order of the records, with their event times', async () => {
    const service = new Service()
    const { harness } = await open({ service })
    for (const value of [1, 2, 3]) harness.process(value, value * 10)
    service.answer(3, 2)
    await harness.settle()
    expect(harness.outputs).toEqual([])
    service.answer(1)
    await harness.settle()
    expect(harness.outputs).toEqual([
      { value: 'answer 1', timestamp: 10 },
      { value: 'answer 2', timestamp: 20 },
      { value: 'answer 3', timestamp: 30 },
    ])
  })

  it('emits the results as they come when it is unordered', async () => {
    const service = new Service()
    const { harness } = await open({ service, mode: 'unordered' })
    for (const value of [1, 2, 3]) harness.process(value)
    service.answer(3)
    await harness.settle()
    service.answer(1, 2)
    await harness.settle()
    expect(harness.values).toEqual(['answer 3', 'answer 1', 'answer 2'])
  })

  it.each(['ordered', 'unordered'] as const)(
    'lets no watermark overtake a record, and no later record a watermark: %s',
    async (mode) => {
      const service = new Service()
      const { harness } = await open({ service, mode })
      harness.process(1)
      harness.watermark(100)
      harness.process(2)
      service.answer(2)
      await harness.settle()
      expect([harness.values, harness.watermarks]).toEqual([[], []])
      service.answer(1)
      await harness.settle()
      expect([harness.values, harness.watermarks]).toEqual([['answer 1', 'answer 2'], [100]])
    },
  )

  it('forwards a watermark at once when nothing is in flight', async () => {
    const { harness } = await open({})
    harness.watermark(100)
    harness.endInput()
    expect(harness.watermarks).toEqual([100, MAX_TIMESTAMP])
  })

  it('calls for no more records than its capacity', async () => {
    const service = new Service()
    const { harness, operator } = await open({ service, capacity: 2 })
    for (const value of [1, 2, 3, 4]) harness.process(value)
    expect([service.calls, operator.isFull]).toEqual([[1, 2], true])
    service.answer(1, 2)
    await harness.settle()
    expect(service.calls).toEqual([1, 2, 3, 4])
    service.answer(3)
    await harness.settle()
    expect(operator.isFull).toBe(false)
  })

  it('emits none or several results of a record', async () => {
    const service: AsyncFunction<number, string> = {
      asyncInvoke: async (value) => Array.from({ length: value }, (_, i) => `${value}.${i}`),
    }
    const { harness } = await open({ service })
    for (const value of [0, 2]) harness.process(value)
    await harness.settle()
    expect(harness.values).toEqual(['2.0', '2.1'])
  })

  it('fails with the error of a call', async () => {
    const service = new Service()
    const { harness } = await open({ service })
    harness.process(7)
    service.refuse(7)
    await expect(harness.settle()).rejects.toThrow('no answer for 7')
  })

  it('refuses a function that returns no promise, and one without an array', async () => {
    const returns = (result: unknown) => ({ asyncInvoke: () => result as Promise<string[]> })
    const direct = await open({ service: returns('now') })
    direct.harness.process(1)
    await expect(direct.harness.settle()).rejects.toThrow('returned a string, not a promise')
    const single = await open({ service: returns(Promise.resolve('one')) })
    single.harness.process(1)
    await expect(single.harness.settle()).rejects.toThrow('resolved to a string, not to an array')
  })

  it('calls again as its retry strategy says, after the delay', async () => {
    const clock = new ManualClock()
    const service = new Service()
    const retryStrategy = fixedDelayRetry<string>({ maxAttempts: 2, delayMs: 100 })
    const { harness } = await open({ service, clock, retryStrategy })
    harness.process(5)
    service.refuse(5)
    await harness.settle()
    clock.advance(99)
    expect(service.calls).toEqual([5])
    clock.advance(1)
    expect(service.calls).toEqual([5, 5])
    service.refuse(5)
    await expect(harness.settle()).rejects.toThrow('no answer for 5')
  })

  it('calls again because of the results, and takes the last ones when the attempts are used up', async () => {
    const clock = new ManualClock()
    const service = new Service()
    const retryStrategy = fixedDelayRetry<string>({
      maxAttempts: 2,
      delayMs: 10,
      ifResults: () => true,
    })
    const { harness } = await open({ service, clock, retryStrategy })
    harness.process(5)
    service.answer(5)
    await harness.settle()
    expect(harness.values).toEqual([])
    clock.advance(10)
    service.answer(5)
    await harness.settle()
    expect(harness.values).toEqual(['answer 5'])
  })

  it('fails when a record has no result in time, and says what to do', async () => {
    const clock = new ManualClock()
    const { harness } = await open({ clock, timeoutMs: 1000 })
    harness.process(1)
    clock.advance(999)
    await harness.settle()
    clock.advance(1)
    await expect(harness.settle()).rejects.toMatchObject({
      code: 'DEADLINE_EXCEEDED',
      message: expect.stringContaining('give the function a timeout method'),
    })
  })

  it('takes the results of the timeout method, and ignores an answer that comes later', async () => {
    const clock = new ManualClock()
    const service = Object.assign(new Service(), { timeout: (value: number) => [`late ${value}`] })
    const { harness } = await open({ service, clock, timeoutMs: 1000 })
    harness.process(1)
    clock.advance(600)
    harness.process(2)
    clock.advance(400)
    service.answer(1, 2)
    await harness.settle()
    expect(harness.values).toEqual(['late 1', 'answer 2'])
    clock.advance(5000)
    await harness.settle()
    expect(clock.pending).toBe(0)
  })

  it.each([
    [undefined, 'nothing'],
    [3, 'a number'],
  ])('refuses %s as the result of the timeout method', async (results, kind) => {
    const clock = new ManualClock()
    const service = Object.assign(new Service(), { timeout: () => results as never })
    const { harness } = await open({ service, clock, timeoutMs: 1000 })
    harness.process(1)
    clock.advance(1000)
    await expect(harness.settle()).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(`returned ${kind}, not an array of results`),
    })
  })

  it('fails when the retry strategy throws instead of giving a delay', async () => {
    const service = new Service()
    const retryStrategy: AsyncRetryStrategy<string> = {
      ...fixedDelayRetry<string>({ maxAttempts: 3, delayMs: 1 }),
      delayMs: () => {
        throw new Error('no delay')
      },
    }
    const { harness } = await open({ service, retryStrategy })
    harness.process(1)
    service.refuse(1)
    await expect(harness.settle()).rejects.toThrow('no delay')
  })

  it('refuses a condition of a retry that is a promise, which would always be true', async () => {
    const service = new Service()
    const ifError = (): boolean => Promise.resolve(false) as never
    const retryStrategy = fixedDelayRetry<string>({ maxAttempts: 3, delayMs: 1, ifError })
    const { harness } = await open({ service, retryStrategy })
    harness.process(1)
    service.refuse(1)
    await expect(harness.settle()).rejects.toThrow('the condition of the retry strategy returned')
  })

  it('counts the time of all calls of a record', async () => {
    const clock = new ManualClock()
    const service = new Service()
    const retryStrategy = fixedDelayRetry<string>({ maxAttempts: 10, delayMs: 800 })
    const { harness } = await open({ service, clock, retryStrategy, timeoutMs: 1000 })
    harness.process(1)
    service.refuse(1)
    await harness.settle()
    clock.advance(1000)
    await expect(harness.settle()).rejects.toThrow('1000 ms and 2 calls')
  })

  it('emits at the position of the record', async () => {
    const service = new Service()
    const seen: unknown[] = []
    class Observed extends AsyncWaitOperator<number, string> {
      override open(context: OperatorContext): Promise<void> {
        const collect = (): number => seen.push(context.position())
        return super.open({ ...context, output: { ...context.output, collect } })
      }
    }
    const harness = await OperatorHarness.open<number, string>({
      operator: new Observed({ ...DEFAULTS, userFunction: service }),
    })
    const at = { partition: 3, offset: 77, source: 2 }
    harness.process(1, -1, { position: at })
    service.answer(1)
    await harness.settle()
    expect(seen).toEqual([at])
  })

  it('calls again for the records of the checkpoint whose results were not emitted', async () => {
    const before = new Service()
    const { harness } = await open({ service: before, capacity: 3 })
    for (const value of [1, 2, 3, 4]) harness.process(value, value)
    before.answer(1, 3)
    await harness.settle()
    expect(harness.values).toEqual(['answer 1'])
    const snapshot = await harness.snapshot()

    const after = new Service()
    const restored = await open({ service: after, restore: [snapshot], capacity: 2 })
    expect(after.calls).toEqual([2, 3])
    after.answer(2, 3)
    await restored.harness.settle()
    after.answer(4)
    await restored.harness.settle()
    expect(restored.harness.outputs).toEqual([
      { value: 'answer 2', timestamp: 2 },
      { value: 'answer 3', timestamp: 3 },
      { value: 'answer 4', timestamp: 4 },
    ])
  })

  it('gives the records of a checkpoint to the subtasks of another parallelism, each once', async () => {
    const { harness } = await open({})
    for (const value of [1, 2, 3]) harness.process(value)
    const snapshot = await harness.snapshot()
    const services = [new Service(), new Service()]
    for (const [subtask, service] of services.entries()) {
      await open({ service, restore: [snapshot], subtask, parallelism: 2 })
    }
    expect(services.flatMap(({ calls }) => calls).sort()).toEqual([1, 2, 3])
  })
})
