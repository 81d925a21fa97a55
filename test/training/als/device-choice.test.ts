import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import {
  type AlsProblem,
  type DeviceTimes,
  deviceVerdict,
  timeDevices,
} from '../../../src/training/als/device-choice.ts'
import type { AlsDevice } from '../../../src/training/als/solver/device.ts'
import { alsSettings } from '../../../src/training/als/solver/options.ts'
import type { AlsShare } from '../../../src/training/als/solver/share.ts'
import { type RatingsTable, ratingStatistics } from '../../../src/training/data/ratings-table.ts'
import { fewRatings } from './fixture.ts'

describe('the verdict over two times', () => {
  it('is the GPU if it took less time', () => {
    expect(deviceVerdict({ cpuMs: 41, gpuMs: 3 })).toEqual({ device: 'gpu' })
  })

  it.each([
    [
      3,
      41,
      'the GPU took 41 ms for work that takes the CPU 3 ms; use device gpu to train on it anyway',
    ],
    [
      0.4321,
      3382.7,
      'the GPU took 3400 ms for work that takes the CPU 0.43 ms; use device gpu to train on it anyway',
    ],
    [
      3,
      3,
      'the GPU took 3 ms for work that takes the CPU 3 ms; use device gpu to train on it anyway',
    ],
  ])('is the CPU where %d ms stand against %d ms, and says so', (cpuMs, gpuMs, reason) => {
    expect(deviceVerdict({ cpuMs, gpuMs })).toEqual({ device: 'cpu', reason })
  })
})

describe('timing two devices', () => {
  const small = fewRatings(24, 12, 160)
  const large = fewRatings(600, 300, 20_000)

  /** Times devices that need some ms for a rating, after a first solve that takes a minute. */
  async function timed(table: RatingsTable, cpuMs: number, gpuMs: number): Promise<Timed> {
    const clock = new ManualClock()
    const [sizes, cgSteps]: [number[], number[]] = [[], []]
    let open = 0
    const deviceOf = (ratings: number, msEach: number): AlsDevice => {
      let ms = 60_000
      open++
      return {
        async solve() {
          clock.advance(ms)
          ms = ratings * msEach
        },
        async [Symbol.asyncDispose]() {
          open--
        },
      }
    }
    const settings = alsSettings({ factors: 4, threads: 0 })
    const { mean } = ratingStatistics(table)
    const problem: AlsProblem = { table, settings, mean }
    const devices = {
      cpu: (share: AlsShare) => {
        cgSteps.push(share.cgSteps)
        return deviceOf(share.users.ratings.length, cpuMs)
      },
      gpu: async (share: AlsShare) => {
        sizes.push(share.users.ratings.length)
        cgSteps.push(share.cgSteps)
        return deviceOf(share.users.ratings.length, gpuMs)
      },
    }
    const times = await timeDevices(problem, devices, clock)
    return { times, sizes, cgSteps, open }
  }

  interface Timed {
    readonly times: DeviceTimes
    readonly sizes: readonly number[]
    readonly cgSteps: readonly number[]
    readonly open: number
  }

  it('uses all ratings of a small problem, and does not time the first solve', async () => {
    const { times, sizes, open } = await timed(small, 0.5, 0.25)
    expect(sizes).toEqual([small.size])
    expect(times).toEqual({ cpuMs: small.size / 2, gpuMs: small.size / 4 })
    expect(open).toBe(0)
  })

  it('continues with more ratings while the GPU is fast, whichever device leads', async () => {
    const { times, sizes } = await timed(large, 2 ** -12, 2 ** -10)
    expect(sizes).toHaveLength(3)
    expect(sizes[2]).toBe(large.size)
    expect(times).toEqual({ cpuMs: large.size / 4096, gpuMs: large.size / 1024 })
  })

  it('stops after few ratings if the GPU is slow on them', async () => {
    const { times, sizes } = await timed(large, 2 ** -12, 1)
    expect(sizes).toHaveLength(1)
    expect(times.gpuMs).toBe(sizes[0])
  })

  it('solves on each device as in training: exactly on the CPU, by steps on the GPU', async () => {
    expect((await timed(small, 1, 1)).cgSteps).toEqual([0, 3])
  })
})
