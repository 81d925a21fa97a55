import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import { evaluateAls } from '../../../src/training/als/evaluate.ts'
import type { AlsModel } from '../../../src/training/als/solver/model.ts'
import { trainAls } from '../../../src/training/als/train.ts'
import type { ChainState, ChainStore } from '../../../src/training/bmf/chain-state.ts'
import type { BmfOptions } from '../../../src/training/bmf/options.ts'
import { type BmfResult, trainBmf } from '../../../src/training/bmf/train.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { splitAtRandom } from '../../../src/training/data/split-ratings.ts'
import { copiedState } from './copied-state.ts'

const NOISE = 0.4
const generated = ratingsTable(
  generateRatings({ users: 200, items: 100, ratings: 6000, noise: NOISE, seed: 3 }),
)
const { train, test } = splitAtRandom(generated, 0.2)

/** Trains in this thread: starting workers would take longer than these tests. */
const trainHere = (options: BmfOptions = {}): Promise<BmfResult> =>
  trainBmf(train, { threads: 0, factors: 5, sweeps: 12, burnIn: 4, ...options })

function checksum(model: AlsModel): string {
  const hash = createHash('sha256')
  for (const [index] of model.users.entries()) hash.update(model.row('U', index))
  for (const [index] of model.items.entries()) hash.update(model.row('I', index))
  return hash.digest('hex')
}

/** A store in memory that keeps copies. */
function memoryStore(): ChainStore & { states: ChainState[] } {
  const states: ChainState[] = []
  return {
    states,
    load: async () => states.at(-1),
    save: async (state) => void states.push(copiedState(state)),
  }
}

describe('trainBmf', () => {
  it('predicts held-out ratings better than ALS with its defaults, of the same factors', async () => {
    const { model } = await trainHere({ sweeps: 30 })
    const als = await trainAls(train, { threads: 0, factors: 5 })
    const error = evaluateAls(model, test).rmse
    expect(error).toBeLessThan(evaluateAls(als, test).rmse)
    // Generated ratings are rounded to whole stars, so no model reaches the noise.
    expect(error).toBeLessThan(0.75)
  })

  it('never gets worse by more sweeps: the mean of scores does not turn with the latent axes', async () => {
    const few = { users: 60, items: 40, ratings: 1200, noise: NOISE, seed: 3 }
    const split = splitAtRandom(ratingsTable(generateRatings(few)), 0.2)
    const errorOf = async (sweeps: number): Promise<number> => {
      const { model } = await trainBmf(split.train, { threads: 0, factors: 5, sweeps })
      return evaluateAls(model, split.test).rmse
    }
    const short = await errorOf(30)
    // With the means of the rows over all sweeps it was 0.66 after 30 and 0.72 after 1,000.
    expect(await errorOf(1000)).toBeLessThan(short + 0.001)
  })

  it('finds the noise of the ratings', async () => {
    const { history } = await trainHere({ sweeps: 30 })
    const { noise, trainRmse } = history.at(-1)!
    expect(Math.abs(noise / trainRmse - 1)).toBeLessThan(0.05)
    // Noise and the rounding to whole stars.
    const expected = Math.sqrt(NOISE ** 2 + 1 / 12)
    expect(Math.abs(noise / expected - 1)).toBeLessThan(0.2)
  })

  it('serves rows in the format of ALS with biases', async () => {
    const { model } = await trainHere()
    expect(model.dimension).toBe(7)
    expect(model.row('U', 0)[6]).toBe(1)
    expect(model.row('I', 0)[5]).toBe(1)
    expect(model.ratingsOf('U', 0)).toBe(train.user.filter((user) => user === 0).length)
  })

  it('gives the same bits for the same seed, and others for another', async () => {
    const [a, b, c] = await Promise.all([trainHere(), trainHere(), trainHere({ seed: 2 })])
    expect(checksum(a.model)).toBe(checksum(b.model))
    expect(checksum(a.model)).not.toBe(checksum(c.model))
  })

  it('continues from every stored state with the bits of a chain that was never stopped', async () => {
    const store = memoryStore()
    // In burn-in, in the first block of sweeps, at its end, and in the second one.
    const sweeps = 35
    const whole = await trainHere({ sweeps, store, storeEvery: 1 })
    const states = [3, 20, 28, 30].map((sweep) => store.states[sweep - 1]!)
    expect(states.map(({ closedUsers }) => closedUsers.length > 0)).toEqual([
      ...[false, false, true, true],
    ])
    for (const state of states) {
      const { model, history } = await trainHere({
        sweeps,
        store: { load: async () => state, save: async () => {} },
      })
      expect(history[0]?.sweep).toBe(state.sweep + 1)
      expect(checksum(model)).toBe(checksum(whole.model))
    }
  })

  it('reports the error of the mean rows on validation ratings after burn-in', async () => {
    const { model, history } = await trainHere({ validation: test })
    expect(history.map(({ kept }) => kept)).toEqual([
      ...new Array<boolean>(4).fill(false),
      ...new Array<boolean>(8).fill(true),
    ])
    expect(history.at(-1)?.validationRmse).toBe(evaluateAls(model, test).rmse)
  })

  it('trains on equal ratings, and on one', async () => {
    const equal = Array.from({ length: 30 }, (_, k) => ({
      user: `u${k % 5}`,
      item: `i${k % 7}`,
      rating: 3,
      timestamp: -1,
    }))
    for (const ratings of [equal, equal.slice(0, 1)]) {
      const { model } = await trainBmf(ratings, { threads: 0, factors: 2, sweeps: 10 })
      expect(Math.abs(model.predict('u0', 'i0').score - 3)).toBeLessThan(0.1)
    }
  })

  it('refuses no ratings, and a burn-in that leaves no sweep', async () => {
    await expect(trainBmf([], { threads: 0 })).rejects.toMatchObject({ code: 'EMPTY_DATASET' })
    await expect(trainHere({ burnIn: 12 })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })

  it('stops between half sweeps when the signal aborts', async () => {
    const abort = new AbortController()
    const stopped = trainHere({
      signal: abort.signal,
      onProgress: ({ sweep }) => {
        if (sweep === 2) abort.abort(new Error('enough'))
      },
    })
    await expect(stopped).rejects.toThrow('enough')
  })
})
