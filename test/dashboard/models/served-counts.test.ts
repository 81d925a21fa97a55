import { expect, it } from 'vitest'
import { servedCounts } from '../../../dashboard/src/models/served-counts.ts'

it('counts a request once, however it ended, and answers of the cache among the answers', () => {
  const statistics = {
    answered: 100,
    cacheHits: 20,
    cacheJoined: 3,
    cacheMisses: 100,
    failed: 4,
    shedDoomed: 5,
    shedFull: 6,
    expired: 7,
    cancelled: 8,
    waiting: 9,
  }
  expect(servedCounts(statistics)).toEqual({ requests: 153, answers: 123, refused: 11 })
})

it('counts nothing for a model without statistics', () => {
  expect(servedCounts({})).toEqual({ requests: 0, answers: 0, refused: 0 })
})
