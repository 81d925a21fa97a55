import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import type { AlsModel } from '../../../src/training/als/solver/model.ts'
import type { AlsOptions } from '../../../src/training/als/solver/options.ts'
import { readRatings, sidesOf } from '../../../src/training/als/solver/sides.ts'
import { trainAls } from '../../../src/training/als/train.ts'
import {
  type RatingsTable,
  ratingStatistics,
  ratingsOf,
  ratingsTable,
  summedByPair,
} from '../../../src/training/data/ratings-table.ts'
import { RatingsSpill } from '../../../src/training/spill/ratings-spill.ts'
import type { SpilledRatings } from '../../../src/training/spill/spilled-ratings.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-spill-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** 150,000 ratings: more than two parts of 1 MiB, with pairs that were rated twice. */
const table = ratingsTable(
  generateRatings({ users: 3000, items: 400, ratings: 150_000, step: 0.5, seed: 2 }),
)

async function spilled(ratings: RatingsTable, sumsPairs = false): Promise<SpilledRatings> {
  using spill = new RatingsSpill({ folder, memoryBytes: 2 ** 20 })
  for (const { user, item, rating } of ratingsOf(ratings)) spill.add(user, item, rating)
  return await spill.build(sumsPairs)
}

function rowsOf(model: AlsModel): readonly number[] {
  return [
    ...model.users.flatMap((_, index) => [...model.row('U', index)]),
    ...model.items.flatMap((_, index) => [...model.row('I', index)]),
  ]
}

const TRAININGS: readonly AlsOptions[] = [
  { threads: 0 },
  { threads: 0, biases: false },
  { threads: 0, feedback: 'implicit' },
  { threads: 2 },
]

describe('ratings in files', () => {
  it.each([
    ['as they came', false],
    ['summed by pair', true],
  ])(
    'have the ids, the statistics and the sorted sides of those in memory, %s',
    async (_, sumsPairs) => {
      const expected = sumsPairs ? summedByPair(table) : table
      using files = await spilled(table, sumsPairs)
      expect(files.users).toEqual(expected.users)
      expect(files.items).toEqual(expected.items)
      expect(files.size).toBe(expected.size)
      expect(files.statistics).toEqual(ratingStatistics(expected))
      const [sides, spilledSides] = [sidesOf(expected, 0, 0), sidesOf(files, 0, 0)]
      for (const name of ['users', 'items'] as const) {
        const [side, actual] = [sides[name], spilledSides[name]]
        expect(actual.offsets).toEqual(side.offsets)
        expect(actual.chunks).toEqual(side.chunks)
        const to = { indexes: new Uint32Array(files.size), ratings: new Float32Array(files.size) }
        await readRatings(actual.spilled!.files, { first: 0, end: files.size }, to)
        expect(to.indexes).toEqual(new Uint32Array(side.indexes))
        expect(to.ratings).toEqual(new Float32Array(side.ratings))
      }
    },
  )

  it.each(campaignSize([TRAININGS[commitSeed() % TRAININGS.length]!], TRAININGS))(
    'train the same rows as in memory with %o',
    async (options) => {
      using files = await spilled(table, options.feedback === 'implicit')
      const settings = { ...options, factors: 6, iterations: 2 }
      const [inMemory, inFiles] = [await trainAls(table, settings), await trainAls(files, settings)]
      expect(rowsOf(inFiles)).toEqual(rowsOf(inMemory))
      expect(inFiles.history.at(-1)?.objective).toBe(inMemory.history.at(-1)?.objective)
      expect(inFiles.ratingsOf('I', 3)).toBe(inMemory.ratingsOf('I', 3))
    },
  )

  it('leave no name in the folder, so that a killed process leaves nothing', async () => {
    using spill = new RatingsSpill({ folder })
    spill.add('u', 'i', 1)
    using _files = await spill.build()
    expect(readdirSync(folder)).toEqual([])
  })

  it('report the sorting, and stop there at a signal', async () => {
    const shares: number[] = []
    const abort = new AbortController()
    using spill = new RatingsSpill({
      folder,
      memoryBytes: 2 ** 20,
      signal: abort.signal,
      onSorted(share) {
        shares.push(share)
        if (share > 0.5) abort.abort(new Error('enough'))
      },
    })
    for (const { user, item, rating } of ratingsOf(table)) spill.add(user, item, rating)
    await expect(spill.build()).rejects.toThrow('enough')
    expect(shares).toEqual(shares.toSorted((a, b) => a - b))
    expect(shares.length).toBeGreaterThan(4)
  })

  it('refuse too little memory, no ratings, one that is no number, and a GPU', async () => {
    expect(() => new RatingsSpill({ folder, memoryBytes: 1000 })).toThrow(
      /memoryBytes must be a number from 1048576/,
    )
    using spill = new RatingsSpill({ folder })
    await expect(spill.build()).rejects.toMatchObject({ code: 'EMPTY_DATASET' })
    expect(() => spill.add('u', 'i', Number.NaN)).toThrow(/user u rated item i with NaN/)
    using files = await spilled(table)
    await expect(trainAls(files, { device: 'gpu' })).rejects.toThrow(/on the CPU only/)
  })
})
