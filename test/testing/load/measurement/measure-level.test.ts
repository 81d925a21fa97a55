import { describe, expect, it } from 'vitest'
import { WeirError } from '../../../../src/core/errors.ts'
import { measureLevel } from '../../../../src/testing/load/measurement/measure-level.ts'
import { outcomeOf } from '../../../../src/testing/load/port/target.ts'
import { LoadRecorder } from '../../../../src/testing/load/port/window.ts'
import { latencyOf } from '../sending/simulated-target.ts'
import { OPTIONS, ScriptedGenerator, windowOf } from './scripted-generator.ts'

const LOAD = { kind: 'concurrency', callers: 2 } as const

describe('measureLevel', () => {
  it('ends when the last three windows agree, and counts these three', async () => {
    const generator = new ScriptedGenerator((n) => (n < 3 ? windowOf(10 * n, 9) : windowOf(100, 2)))
    const result = await measureLevel(generator, LOAD, OPTIONS)
    expect(result).toMatchObject({ isStable: true, windows: 5, throughput: 100, judgedMs: 2 })
    expect(result.measured.ok).toBe(300)
    expect(generator.stopped).toBe(1)
  })

  it('ends unstable after the highest number of windows', async () => {
    const generator = new ScriptedGenerator((n) => windowOf(100 * n, 1))
    const result = await measureLevel(generator, LOAD, { ...OPTIONS, maxTrials: 4 })
    expect(result).toMatchObject({ isStable: false, windows: 4, throughput: 300 })
  })

  it('ends early when three windows in turn are above the threshold', async () => {
    const generator = new ScriptedGenerator((n) => windowOf(100 * n, 5 * n))
    const options = { ...OPTIONS, latencyThresholdMs: 4 }
    expect(await measureLevel(generator, LOAD, options)).toMatchObject({
      isStable: false,
      windows: 3,
    })
  })

  it('judges by a percentile when one is given', async () => {
    const mixed = (n: number) => {
      const recorder = new LoadRecorder()
      for (let i = 0; i < 98; i++) recorder.ended({ kind: 'ok', isCold: false }, 1)
      for (let i = 0; i < 2; i++) recorder.ended({ kind: 'ok', isCold: false }, 10 * n)
      return recorder.take(1000, 0)
    }
    const options = { ...OPTIONS, maxTrials: 3 }
    const byMedian = await measureLevel(new ScriptedGenerator(mixed), LOAD, {
      ...options,
      judged: 50,
    })
    const byP99 = await measureLevel(new ScriptedGenerator(mixed), LOAD, { ...options, judged: 99 })
    expect([byMedian.isStable, byP99.isStable]).toEqual([true, false])
    expect(byP99.judgedMs).toBeGreaterThan(byMedian.judgedMs)
  })

  it('counts the latencies of requests that were answered after the last window', async () => {
    const generator = new ScriptedGenerator(() => windowOf(10, 1))
    generator.tail = windowOf(10, 1000)
    const { measured, throughput, judgedMs } = await measureLevel(generator, LOAD, OPTIONS)
    expect(measured.ok).toBe(40)
    expect(throughput).toBe(10)
    expect(latencyOf(measured).percentileMs(80)).toBeGreaterThan(900)
    expect(judgedMs).toBeCloseTo(250.75)
  })

  it('sends warm-up requests first and does not count them', async () => {
    const generator = new ScriptedGenerator(() => windowOf(10, 1))
    const { measured } = await measureLevel(generator, LOAD, { ...OPTIONS, warmupRequests: 500 })
    expect(generator.started.map(({ limit }) => limit)).toEqual([500, undefined])
    expect(generator.stopped).toBe(2)
    expect(measured.sent).toBe(30)
  })

  it('with a number of requests counts all of them', async () => {
    const generator = new ScriptedGenerator(() => windowOf(7, 1))
    const result = await measureLevel(generator, LOAD, { ...OPTIONS, requestCount: 7 })
    expect(result).toMatchObject({ isStable: true, windows: 1 })
    expect(result.measured.ok).toBe(7)
  })

  it('makes a window longer until it has enough requests', async () => {
    const generator = new ScriptedGenerator(() => windowOf(10, 1))
    const { measured } = await measureLevel(generator, LOAD, { ...OPTIONS, windowRequests: 35 })
    expect(measured).toMatchObject({ ok: 120, durationMs: 12_000 })
  })

  it('rejects with the error of the requests when every one fails', async () => {
    const generator = new ScriptedGenerator((n) => windowOf(n === 1 ? 5 : 0, 1, 3))
    await expect(measureLevel(generator, LOAD, OPTIONS)).rejects.toMatchObject({
      code: 'UNKNOWN_STATE',
      message: 'every request failed, 3 of them with: no such state',
    })
    expect(generator.stopped).toBe(1)
  })

  it('measures a level at which every request is refused for the load', async () => {
    const recorder = () => {
      const refused = new LoadRecorder()
      refused.ended(outcomeOf(new WeirError('OVERLOADED', 'too much')), 1)
      return refused.take(1000, 0)
    }
    const options = { ...OPTIONS, maxTrials: 3 }
    const result = await measureLevel(new ScriptedGenerator(recorder), LOAD, options)
    expect(result).toMatchObject({ isStable: false, throughput: 0, judgedMs: Number.NaN })
    expect(result.measured.rejected).toBe(3)
  })

  it('gives what was measured when it is interrupted', async () => {
    const controller = new AbortController()
    const generator = new ScriptedGenerator((n) => {
      if (n === 2) controller.abort()
      return windowOf(100 * n, 1)
    })
    const options = { ...OPTIONS, interrupted: controller.signal }
    const result = await measureLevel(generator, LOAD, options)
    expect(result).toMatchObject({ isInterrupted: true, isStable: false, windows: 2 })
    expect(result.measured.ok).toBe(300)
  })
})
