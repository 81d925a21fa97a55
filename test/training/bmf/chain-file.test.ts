import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { chainFile } from '../../../src/training/bmf/chain-file.ts'
import { type ChainState, chainFingerprint } from '../../../src/training/bmf/chain-state.ts'
import { featureTable } from '../../../src/training/data/feature-table.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'

const folder = mkdtempSync(join(tmpdir(), 'weir-chain-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const path = join(folder, 'chain')
const state: ChainState = {
  fingerprint: 'abc',
  sweep: 7,
  precision: 1.25,
  userRows: Float32Array.of(1, 2, 3, 4),
  itemRows: Float32Array.of(5, 6),
  userMeans: Float32Array.of(0.5),
  itemMeans: Float32Array.of(-0.5, 1e-20),
  userRoots: Float32Array.of(1.5),
  closedUsers: Float32Array.of(0.25),
  closedItems: Float32Array.of(2, 3, 4),
  userMoments: new Float32Array(0),
  itemMoments: new Float32Array(0),
  userNoise: new Float32Array(0),
  userWeights: new Float32Array(0),
  itemWeights: new Float32Array(0),
  userScales: [],
  itemScales: [],
}

beforeEach(() => chainFile(path).save(state))

describe('the file of a chain', () => {
  it('gives back what was saved', async () => {
    expect(await chainFile(path).load('abc')).toMatchObject(state)
  })

  it('gives back the moments of scores and the weights of features, if there are any', async () => {
    const whole = {
      ...state,
      userMoments: Float32Array.of(7, 8),
      itemMoments: Float32Array.of(9),
      userNoise: Float32Array.of(0.5),
      userWeights: Float32Array.of(1, -1),
      itemWeights: Float32Array.of(0.25),
      userScales: [12.5],
      itemScales: [3, 4],
    }
    await chainFile(path).save(whole)
    expect(await chainFile(path).load('abc')).toMatchObject(whole)
  })

  it('replaces the state before', async () => {
    await chainFile(path).save({ ...state, sweep: 8 })
    expect(await chainFile(path).load('abc')).toMatchObject({ sweep: 8 })
  })

  it('has no state where no file is', async () => {
    expect(await chainFile(join(folder, 'missing')).load('abc')).toBeUndefined()
  })

  it('is refused for another chain', async () => {
    await expect(chainFile(path).load('xyz')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })

  it('is refused when it is cut off anywhere', async () => {
    const { length } = readFileSync(path)
    for (const size of [0, 3, 20, length - 1]) {
      await chainFile(path).save(state)
      truncateSync(path, size)
      await expect(chainFile(path).load('abc')).rejects.toMatchObject({ code: 'MALFORMED_DATA' })
    }
  })

  it('is refused when a byte of an array or of the header is wrong', async () => {
    const bytes = readFileSync(path)
    for (const at of [5, bytes.length - 1]) {
      const wrong = Uint8Array.from(bytes)
      wrong[at]! ^= 1
      writeFileSync(path, wrong)
      await expect(chainFile(path).load('abc')).rejects.toMatchObject({ code: 'MALFORMED_DATA' })
    }
  })
})

const FEATURES = featureTable(['id,x', 'b,2', 'c,4', 'd,5'])

describe('chainFingerprint', () => {
  const rating = { user: 'a', item: 'b', rating: 3, timestamp: -1 }
  const settings = { factors: 4, burnIn: 2, seed: 1, variance: false }
  const of = (ratings = [rating], changed = {}): string =>
    chainFingerprint(ratingsTable(ratings), { ...settings, ...changed })

  it('is another one for other ratings and settings', () => {
    const prints = [
      of(),
      of([{ ...rating, rating: 4 }]),
      of([{ ...rating, user: 'c' }]),
      of(undefined, { factors: 5 }),
      of(undefined, { burnIn: 3 }),
      of(undefined, { seed: 2 }),
      of(undefined, { variance: true }),
      of(undefined, { whoRated: true }),
      of(undefined, { userFeatures: FEATURES }),
      of(undefined, { itemFeatures: FEATURES }),
      of(undefined, { itemFeatures: featureTable(['id,x', 'b,2', 'c,4', 'd,9']) }),
    ]
    expect(new Set(prints).size).toBe(prints.length)
    expect(of()).toBe(prints[0])
  })
})
