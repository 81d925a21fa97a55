import { describe, expect, it } from 'vitest'
import { dataMeasures } from '../../../../src/models/registry/checks/data.ts'
import {
  servingMeasures,
  storedCheck,
  verdictText,
} from '../../../../src/models/registry/checks/promotion-verdict.ts'
import { qualityMeasures } from '../../../../src/models/registry/checks/quality.ts'

const failedOf = (measures: readonly { name: string; passed: boolean }[]) =>
  measures.filter(({ passed }) => !passed).map(({ name }) => name)

describe('the data check', () => {
  const good = { observations: 1000, unparsable: 0, smallest: 1, largest: 5, unknownShare: 0.1 }

  it('passes data of enough volume, in the scale, with few unknown keys', () => {
    expect(failedOf(dataMeasures(good, { smallest: 1, largest: 5 }))).toEqual([])
  })

  it('names what failed: volume, schema, range, unknown share', () => {
    expect(failedOf(dataMeasures({ ...good, observations: 99 }))).toEqual(['observations'])
    expect(failedOf(dataMeasures({ ...good, unparsable: 50 }))).toEqual(['unparsable share'])
    expect(failedOf(dataMeasures({ ...good, smallest: -3 }, { smallest: 1 }))).toEqual([
      'smallest rating',
    ])
    expect(failedOf(dataMeasures({ ...good, largest: 50 }, { largest: 5 }))).toEqual([
      'largest rating',
    ])
    expect(failedOf(dataMeasures({ ...good, unknownShare: 0.6 }))).toEqual(['unknown share'])
  })

  it('names the item, but not the user, whose new ratings contradict its golden ones', () => {
    const worst = { group: '50', certain: 0.2 }
    const profile = {
      ...{ users: 100, items: 100, userShare: 0, itemShare: 0 },
      ...{ userShareBefore: 0, itemShareBefore: 0, leakedShare: 0 },
      ...{ newObservations: 100, ratingShift: Number.NaN },
      contradicted: { item: worst, user: worst },
    }
    const ofItem = 'certain difference of the new from the golden ratings of item 50'
    const ofUser = 'certain difference of the new from the golden ratings of one user'
    const failed = (maxGoldenShift?: number) =>
      failedOf(dataMeasures({ ...good, profile }, maxGoldenShift ? { maxGoldenShift } : {}))
    // A user may differ twice as much.
    expect(failed(0.09)).toEqual([ofItem, ofUser])
    expect(failed()).toEqual([ofItem])
    expect(failed(0.2)).toEqual([])
  })

  it('fails where there is no data at all', () => {
    const none = { ...good, observations: 0, smallest: Number.NaN, largest: Number.NaN }
    expect(failedOf(dataMeasures(none, { smallest: 1, largest: 5 })).length).toBe(4)
  })
})

describe('the quality check', () => {
  const facts = { pairs: 1000, candidateRmse: 0.905, liveRmse: 0.9, meanRmse: 1.1 }

  it('lets a candidate be worse than live by the tolerance and no more', () => {
    expect(failedOf(qualityMeasures(facts))).toEqual([])
    expect(failedOf(qualityMeasures(facts, { tolerance: 0.001 }))).toEqual(['RMSE against live'])
    expect(failedOf(qualityMeasures({ ...facts, candidateRmse: 0.95 }))).toEqual([
      'RMSE against live',
    ])
  })

  it('requires a first version to be better than the mean rating alone', () => {
    const first = { ...facts, liveRmse: undefined }
    expect(failedOf(qualityMeasures(first))).toEqual([])
    expect(failedOf(qualityMeasures({ ...first, candidateRmse: 1.2 }))).toEqual([
      'RMSE against the mean rating',
    ])
  })

  it('looks both ways at lists, and at items and users whose predictions have moved', () => {
    const lists = { users: 100, overlap: 0.5, rise: 0, fall: 0.6, fallenItem: '50' }
    expect(failedOf(qualityMeasures({ ...facts, lists }))).toEqual(['fall of item 50 in top lists'])
    const worst = (certain: number) => ({ group: '50', certain })
    const moved = { item: worst(0.06), user: worst(0.06) }
    expect(failedOf(qualityMeasures({ ...facts, moved }))).toEqual([
      'certain error of the moved predictions of item 50',
      'certain error of the moved predictions of one user',
    ])
    expect(failedOf(qualityMeasures({ ...facts, moved }, { maxMovedError: 0.1 }))).toEqual([])
  })

  it('fails on a golden set that is too small, and on NaN', () => {
    expect(failedOf(qualityMeasures({ ...facts, pairs: 3 }))).toEqual([
      'golden pairs outside the training data',
    ])
    expect(failedOf(qualityMeasures({ ...facts, candidateRmse: Number.NaN })).length).toBe(2)
  })
})

describe('the serving check', () => {
  const facts = { loadMs: 200, asked: 1000, failed: 0, p99Ms: 3 }

  it('names what failed: loading, answers, latency', () => {
    expect(failedOf(servingMeasures(facts))).toEqual([])
    const never = { ...facts, loadMs: Number.POSITIVE_INFINITY, asked: 0, p99Ms: Number.NaN }
    expect(failedOf(servingMeasures(never)).length).toBe(3)
    expect(failedOf(servingMeasures({ ...facts, failed: 1 }))).toEqual(['failed share'])
    expect(failedOf(servingMeasures({ ...facts, p99Ms: 300 }))).toEqual(['p99 latency in ms'])
  })
})

describe('verdicts', () => {
  it('are sentences', () => {
    expect(verdictText({ kind: 'allowed' })).toBe('all three checks passed')
    expect(verdictText({ kind: 'missing', check: 'data' })).toBe('the data check has not been run')
    expect(verdictText({ kind: 'outdated', check: 'quality', against: 3 })).toContain('version 3')
    const { passed } = storedCheck('data', dataMeasures({} as never), {
      atMs: 0,
      against: 0,
      subject: '',
    })
    expect(passed).toBe(false)
  })
})
