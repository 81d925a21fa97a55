import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import {
  ClassificationAccumulator,
  type ClassificationSummary,
} from '../../../src/training/metrics/classification.ts'

function summaryOf(scored: readonly (readonly [number, number])[], logOdds = false) {
  const quality = new ClassificationAccumulator(logOdds)
  for (const [label, decision] of scored) quality.add(label > 0, decision)
  return quality.summary()
}

describe('classification metrics', () => {
  it('count labels at a decision above 0', () => {
    const { accuracy, count, positives } = summaryOf([
      ...([[1, 2] as const, [1, -1] as const, [-1, -3] as const, [-1, 0] as const] as const),
    ])
    expect([count, positives, accuracy.mean]).toEqual([4, 2, 0.75])
    expect(accuracy.low).toBeLessThan(0.75)
  })

  it('have the area that all pairs give, ties counted half', () => {
    const scored = Array.from({ length: 60 }, (_, i): [number, number] => [
      (i * 7) % 5 < 2 ? 1 : -1,
      Math.floor(((i * 37) % 23) / 2) - 5,
    ])
    let above = 0
    let pairs = 0
    for (const [, positive] of scored.filter(([label]) => label > 0)) {
      for (const [, negative] of scored.filter(([label]) => label < 0)) {
        above += positive > negative ? 1 : positive === negative ? 0.5 : 0
        pairs++
      }
    }
    const auc = summaryOf(scored).auc as NonNullable<ClassificationSummary['auc']>
    expect(auc.mean).toBeCloseTo(above / pairs, 12)
    expect(auc.high - auc.low).toBeGreaterThan(0.1)
  })

  it('have an interval of the area that is not a point where the labels are apart', () => {
    const apart = Array.from({ length: 20 }, (_, i): [number, number] => [i < 10 ? -1 : 1, i])
    const auc = summaryOf(apart).auc as NonNullable<ClassificationSummary['auc']>
    expect(auc).toMatchObject({ mean: 1, high: 1 })
    expect(auc.low).toBeGreaterThan(0.6)
    expect(auc.low).toBeLessThan(0.95)
    const turned = summaryOf(apart.map(([label, decision]) => [label, -decision])).auc
    expect(turned).toMatchObject({ mean: 0, low: 0 })
    expect(turned!.high).toBeCloseTo(1 - auc.low, 12)
  })

  it('have an interval of the area that covers the truth about 95 times in 100, also near 1', () => {
    const random = seededRandom(4)
    // Normal scores that are 2.8 standard deviations apart: the area is 0.97614.
    const truth = 0.97614
    const rounds = 400
    let covered = 0
    for (let round = 0; round < rounds; round++) {
      const scored = Array.from({ length: 60 }, (_, i): [number, number] =>
        i < 30 ? [1, random.normal() + 2.8] : [-1, random.normal()],
      )
      const { low, high } = summaryOf(scored).auc!
      if (low <= truth && truth <= high) covered += 1
    }
    expect(covered / rounds).toBeGreaterThan(0.9)
  })

  it('have no area with one label only, and no log loss without log-odds', () => {
    const { auc, logLoss } = summaryOf([[1, 2]])
    expect([auc, logLoss]).toEqual([undefined, undefined])
  })

  it('have the log loss of the probabilities, clipped at 0', () => {
    const { logLoss } = summaryOf(
      [
        [1, Math.log(3)],
        [-1, Math.log(3)],
      ],
      true,
    )
    expect(logLoss?.mean).toBeCloseTo((-Math.log(0.75) - Math.log(0.25)) / 2, 12)
    expect(summaryOf([[1, -1e4]], true).logLoss?.mean).toBeCloseTo(-Math.log(1e-15), 9)
  })

  it('refuse values that are not finite, and a summary without examples', () => {
    expect(() => summaryOf([[1, Number.NaN]])).toThrow(/decision value is NaN/)
    expect(() => summaryOf([])).toThrow(/no example was evaluated/)
  })
})
