import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../../src/core/random.ts'
import { measureLevels } from '../../../../src/testing/load/measurement/measure-levels.ts'
import type { Load } from '../../../../src/testing/load/port/load.ts'
import { ANSWERED } from '../../../../src/testing/load/port/target.ts'
import { LoadRecorder, type LoadWindow } from '../../../../src/testing/load/port/window.ts'
import { arrivalsOf } from '../../../../src/testing/load/sending/arrivals.ts'
import { OPTIONS, ScriptedGenerator, windowOf } from './scripted-generator.ts'

const LEVELS = { ...OPTIONS, onLevel: () => {} }

const SERVICE_PER_SECOND = 1000

/** Windows of an M/M/1 queue: one server with exponential service times, in order of arrival (Lindley). */
function singleServerQueue(): (number: number, load: Load) => LoadWindow {
  let queue = { arrivals: arrivalsOf(poisson(1)), freeMs: 0, random: seededRandom(2) }
  return (number, load) => {
    if (load.kind === 'concurrency') throw new Error('the queue has no callers')
    if (number === 1) queue = { arrivals: arrivalsOf(load), freeMs: 0, random: seededRandom(2) }
    const recorder = new LoadRecorder()
    const requests = 20_000
    let firstMs = Number.POSITIVE_INFINITY
    let lastMs = 0
    for (let i = 0; i < requests; i++) {
      const dueMs = queue.arrivals.nextMs()
      const serviceMs = (-Math.log(1 - queue.random.next()) * 1000) / SERVICE_PER_SECOND
      queue.freeMs = Math.max(queue.freeMs, dueMs) + serviceMs
      firstMs = Math.min(firstMs, dueMs)
      lastMs = dueMs
      recorder.ended(ANSWERED, queue.freeMs - dueMs)
    }
    return recorder.take(lastMs - firstMs, 0)
  }
}

const poisson = (perSecond: number) =>
  ({ kind: 'rate', perSecond, distribution: 'poisson', seed: 3 }) as const

describe('measureLevels', () => {
  it('finds the highest rate of an M/M/1 queue whose p99 is below a threshold', async () => {
    const generator = new ScriptedGenerator(singleServerQueue())
    const range = { start: 100, end: 1500, step: 20 }
    const options = { ...LEVELS, judged: 99, latencyThresholdMs: 20, stabilityPercentage: 30 }
    const plan = { range, search: 'binary', loadOf: poisson } as const
    const { best, levels } = await measureLevels(generator, plan, options)
    // Sojourn times are exponential with rate mu - lambda: p99 = ln(100) / (mu - lambda).
    const exact = SERVICE_PER_SECOND - (Math.log(100) * 1000) / 20
    expect(Math.abs(best! - exact)).toBeLessThanOrEqual(40)
    expect(levels.length).toBeLessThan(10)
  })

  it('reports every level as it is measured, and no best one without a threshold', async () => {
    const generator = new ScriptedGenerator(() => windowOf(10, 1))
    const range = { start: 1, end: 3, step: 1 }
    const reported: unknown[] = []
    const loadOf = (callers: number) => ({ kind: 'concurrency', callers }) as const
    const { best } = await measureLevels(
      generator,
      { range, search: 'linear', loadOf },
      { ...LEVELS, onLevel: ({ load }) => reported.push(load) },
    )
    expect(reported).toEqual([1, 2, 3].map(loadOf))
    expect(best).toBeUndefined()
  })

  it('does not take a level for good whose requests are refused', async () => {
    const generator = new ScriptedGenerator((_, load) =>
      windowOf(100, 1, load.kind === 'concurrency' && load.callers > 2 ? 3 : 0),
    )
    const { best } = await measureLevels(
      generator,
      {
        range: { start: 1, end: 9, step: 1 },
        search: 'linear',
        loadOf: (callers) => ({ kind: 'concurrency', callers }),
      },
      { ...LEVELS, latencyThresholdMs: 5 },
    )
    expect(best).toBe(2)
  })

  it('rejects before the first level when no request is answered', async () => {
    const generator = new ScriptedGenerator(() => windowOf(10, 1))
    generator.probe = () => Promise.reject(new Error('refused'))
    const plan = {
      range: { start: 1, end: 1, step: 1 },
      search: 'linear',
      loadOf: poisson,
    } as const
    await expect(measureLevels(generator, plan, LEVELS)).rejects.toThrow('refused')
    expect(generator.started).toEqual([])
  })
})
