import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { formatRating } from '../../../src/models/ratings/format.ts'
import { generateRatings } from '../../../src/models/ratings/generator.ts'

/** Little training, for the loop. */
export const LOOP_SIZE = ['--loop', '--factors', '8', '--sweeps', '6', '--threads', '0']

const SHAPE = { users: 600, items: 200, ratings: 40_000, seed: 3 }

/** A file of ratings whose newest tenth, which the quickstart streams, is of other tastes. */
export function writeLoopRatings(folder: string): string {
  const turns = [{ from: Math.round(SHAPE.ratings * 0.81), angle: 1 }]
  const lines = [...generateRatings({ ...SHAPE, turns })].map((rating) =>
    formatRating(rating, 'tab'),
  )
  const path = join(folder, 'loop.data')
  writeFileSync(path, `${lines.join('\n')}\n`)
  return path
}

/** Holds the figures of a first start against what the loop promises. */
export function checkLoop(result: Record<string, unknown>): void {
  expect(result).toMatchObject({ version: 1, trained: true })
  const loop = result['loop'] as Record<string, number>
  expect(loop).toMatchObject({
    ran: true,
    promotedVersion: 2,
    rolledBackTo: 1,
    liveVersion: 2,
    failedRequests: 0,
  })
  expect(loop['requests']).toBeGreaterThan(100)
  expect(loop['learnRmseAfter']).toBeLessThan(loop['frozenRmse']!)
  expect(loop['driftDetectedAfter']).toBeGreaterThan(0)
  expect(loop['driftRmse']).toBeGreaterThan(loop['learnRmseAfter']! + 0.2)
  expect(loop['trainedOn']).toBeGreaterThan(5000)
  expect(loop['candidateRmse']).toBeLessThan(loop['candidateLiveRmse']!)
  expect(loop['promotedRmse']).toBeLessThan(loop['driftRmse']!)
}
