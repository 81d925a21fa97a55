import { describe, expect, it } from 'vitest'
import { ModelParts } from '../../../src/inference/parts/model-parts.ts'
import { WorkerParts } from '../../../src/inference/parts/worker-parts.ts'
import type { Tensor } from '../../../src/inference/port/tensor.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { until } from '../../run/until.ts'

const SIGNATURE = {
  inputs: [],
  outputs: [{ name: 'y', datatype: 'UINT8', shape: [1] }],
  parts: true,
} as const

const part = (value: number): readonly Tensor[] => [
  { name: 'y', datatype: 'UINT8', shape: [1], data: Uint8Array.of(value) },
]

/** Answers in parts of a model in this thread, and what became of it. */
function opened(
  parts: (signal: AbortSignal) => AsyncIterable<readonly Tensor[]>,
  { streams = 4, outputBytes = 100 } = {},
) {
  const clock = new ManualClock()
  const deployment = { sloMs: 1000, streams }
  const model = ModelParts.of(SIGNATURE, { clock, deployment, overtimeMs: 50 })!
  let blocked = 0
  const port = model.join(() => blocked++)
  const { outputs } = SIGNATURE
  const worker = new WorkerParts(port, {
    parts: (_, signal) => parts(signal),
    outputs,
    outputBytes,
  })
  return { clock, model, worker, port, blocked: () => blocked }
}

const numberOf = ({ value }: IteratorResult<readonly Tensor[]>) => value?.[0]?.data[0]

describe('answers in parts', () => {
  it('make no part before it is asked for, and return the generator when the reader leaves', async () => {
    let made = 0
    let ended = 0
    const { model } = opened(async function* () {
      try {
        for (;;) yield part(++made)
      } finally {
        ended++
      }
    })
    const answer = model.ask({ inputs: [] })
    expect([numberOf(await answer.next()), made]).toEqual([1, 1])
    expect([numberOf(await answer.next()), made]).toEqual([2, 2])
    await answer.return(undefined)
    await until('the generator has ended', () => ended === 1)
    await model.idle()
    expect(made).toBe(2)
  })

  it('abort the signal of a model that waits when the asker is gone', async () => {
    const reasons: unknown[] = []
    const { model } = opened(async function* (signal) {
      await new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => {
          reasons.push(signal.reason.code)
          resolve()
        })
      })
    })
    let leave = (): void => {}
    const gone = new Error('gone')
    const asker = {
      gone: undefined as unknown,
      onGone: (listener: () => void) => {
        leave = listener
        return () => {}
      },
    }
    const next = model.ask({ inputs: [], asker }).next()
    asker.gone = gone
    leave()
    await expect(next).rejects.toBe(gone)
    await model.idle()
    expect(reasons).toEqual(['UNAVAILABLE'])
  })

  it('end at the goal for a part, or at the deadline of the request for all of them', async () => {
    const { model, clock } = opened(async function* (signal) {
      yield part(1)
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    })
    for (const [deadlineMs, ms] of [
      [undefined, 1000],
      [300, 300],
    ] as const) {
      const answer = model.ask({ inputs: [], deadlineMs })
      expect(numberOf(await answer.next())).toBe(1)
      const next = answer.next()
      const late = expect(next).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' })
      await clock.advance(ms)
      await late
    }
  })

  it('are refused above the limit until one has ended', async () => {
    const { model } = opened(
      async function* () {
        yield part(1)
        yield part(2)
      },
      { streams: 1 },
    )
    const first = model.ask({ inputs: [] })
    await first.next()
    await expect(model.ask({ inputs: [] }).next()).rejects.toMatchObject({ code: 'OVERLOADED' })
    await first.return(undefined)
    await model.idle()
    expect(numberOf(await model.ask({ inputs: [] }).next())).toBe(1)
  })

  it('of one client are at most half of the limit', async () => {
    const { model } = opened(
      async function* () {
        yield part(1)
        yield part(2)
      },
      { streams: 4 },
    )
    const ask = (client: string) => {
      const asker = { gone: undefined, client, onGone: () => () => {} }
      return model.ask({ inputs: [], asker })
    }
    const [first, second] = [ask('a'), ask('a')]
    await Promise.all([first.next(), second.next()])
    await expect(ask('a').next()).rejects.toMatchObject({
      code: 'OVERLOADED',
      message: expect.stringContaining('2 answers in parts of one client'),
    })
    expect(numberOf(await ask('b').next())).toBe(1)
    await first.return(undefined)
    await until('its place is free', async () => {
      const next = await ask('a')
        .next()
        .catch(() => undefined)
      return next !== undefined
    })
  })

  it('fail where a part is no part of the signature or too large, and end the model', async () => {
    const wrong: readonly (readonly [unknown, string, string])[] = [
      [undefined, 'MODEL_FAILED', 'undefined'],
      [[], 'MODEL_FAILED', '0 outputs'],
      [[{ ...part(1)[0], name: 'z' }], 'MODEL_FAILED', '"y" of UINT8'],
      [[{ ...part(1)[0], data: [1] }], 'MODEL_FAILED', '"y" of UINT8'],
      [[{ ...part(1)[0], data: new Uint8Array(101) }], 'FRAME_TOO_LARGE', '101 bytes'],
    ]
    for (const [value, code, text] of wrong) {
      let ended = false
      const { model } = opened(async function* () {
        try {
          yield value as readonly Tensor[]
        } finally {
          ended = true
        }
      })
      const message = expect.stringContaining(text)
      await expect(model.ask({ inputs: [] }).next()).rejects.toMatchObject({ code, message })
      await until('the generator has ended', () => ended)
    }
  })

  it('fail with WORKER_LOST when the worker ends, and with MODEL_NOT_LOADED without one', async () => {
    const { model, port } = opened(async function* () {
      yield part(1)
      yield part(2)
    })
    const answer = model.ask({ inputs: [] })
    await answer.next()
    port.close()
    await until('the loss is noticed', async () => {
      const error = await model
        .ask({ inputs: [] })
        .next()
        .then(() => undefined, String)
      return error?.includes('no worker of the model')
    })
    await expect(answer.next()).rejects.toMatchObject({ code: 'WORKER_LOST' })
    await model.idle()
  })

  it('wait for those under way when a worker leaves, which takes no further one', async () => {
    const { model, worker } = opened(async function* () {
      yield part(1)
      yield part(2)
    })
    const answer = model.ask({ inputs: [] })
    await answer.next()
    let hasEnded = false
    const ended = worker.ended().then(() => {
      hasEnded = true
    })
    await until('the worker leaves', async () => {
      const other = model.ask({ inputs: [] })
      const error = await other.next().then(() => undefined, String)
      await other.return(undefined)
      return error?.includes('no worker of the model')
    })
    expect([numberOf(await answer.next()), hasEnded]).toEqual([2, false])
    expect((await answer.next()).done).toBe(true)
    await ended
  })

  it('say that a worker is blocked which does not hear that its reader has left', async () => {
    const clock = new ManualClock()
    const deployment = { sloMs: 1000 }
    const model = ModelParts.of(SIGNATURE, { clock, deployment, overtimeMs: 50 })!
    let blocked = 0
    // Nobody listens at the port.
    model.join(() => blocked++)
    const answer = model.ask({ inputs: [], deadlineMs: 10 })
    const late = expect(answer.next()).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' })
    await clock.advance(10)
    await late
    await clock.advance(49)
    expect(blocked).toBe(0)
    await clock.advance(1)
    expect(blocked).toBe(1)
    model.close()
  })

  it('are refused at the load where they cannot work', () => {
    const open = (deployment: object, mayLeave = false) =>
      ModelParts.of(SIGNATURE, {
        clock: new ManualClock(),
        deployment: { sloMs: 1, ...deployment },
        overtimeMs: 50,
        mayLeave,
      })
    expect(() => open({ isolation: 'process' })).toThrow('leave out isolation: process')
    expect(() => open({ transforms: {} })).toThrow('transforms')
    expect(() => open({}, true)).toThrow('keep-loaded: true')
    expect(
      ModelParts.of(
        { ...SIGNATURE, parts: false },
        {
          clock: new ManualClock(),
          deployment: { sloMs: 1 },
          overtimeMs: 50,
        },
      ),
    ).toBeUndefined()
  })
})
