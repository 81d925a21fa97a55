import { describe, expect, it } from 'vitest'
import { MulticlassAccumulator } from '../../../src/training/metrics/multiclass.ts'

/** Labels, and scores of the classes 0, 1 and 2. */
const EXAMPLES = [
  [0, [2, -1, -1]],
  [1, [-1, 0.5, 0.2]],
  [2, [0.3, 0.1, -0.5]],
  [2, [-2, -1, 1]],
  [1, [-1, -0.2, 0.4]],
  [0, [1, 0, -1]],
] as const

function quality(isLogOdds: boolean, labels: readonly number[] = [0, 1, 2]) {
  const accumulator = new MulticlassAccumulator(labels, isLogOdds)
  for (const [label, scores] of EXAMPLES) accumulator.add(label, scores)
  return accumulator.summary()
}

describe('the quality of several classes', () => {
  it('has accuracy and macro F1 by their definitions', () => {
    const { accuracy, macroF1, count, classes } = quality(false)
    expect([count, classes]).toEqual([6, 3])
    expect(accuracy.mean).toBeCloseTo(4 / 6, 12)
    // By class: right, labelled, predicted are 2, 2, 3; 1, 2, 1; 1, 2, 2.
    expect(macroF1).toBeCloseTo((4 / 5 + 2 / 3 + 2 / 4) / 3, 12)
  })

  it('has the log loss of probabilities that add up to 1', () => {
    const share = (score: number): number => 1 / (1 + Math.exp(-score))
    const losses = EXAMPLES.map(([label, scores]) => {
      const shares = scores.map(share)
      return -Math.log(shares[label]! / shares.reduce((sum, each) => sum + each, 0))
    })
    const mean = losses.reduce((sum, each) => sum + each, 0) / losses.length
    expect(quality(true).logLoss?.mean).toBeCloseTo(mean, 12)
    expect(quality(false).logLoss).toBeUndefined()
  })

  it('counts a label that is no class as wrong', () => {
    const { accuracy, macroF1, logLoss } = quality(true, [0, 1, 7])
    expect(accuracy.mean).toBeCloseTo(3 / 6, 12)
    expect(macroF1).toBeCloseTo((4 / 5 + 2 / 3 + 0 + 0) / 4, 12)
    expect(logLoss!.mean).toBeGreaterThan(10)
  })

  it('is none without examples, and of scores that are not finite', () => {
    const accumulator = new MulticlassAccumulator([1, 2], false)
    expect(() => accumulator.summary()).toThrow(expect.objectContaining({ code: 'EMPTY_DATASET' }))
    expect(() => accumulator.add(1, [Number.NaN, 1])).toThrow(
      expect.objectContaining({ code: 'NOT_FINITE' }),
    )
  })
})
