import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { decodeLinearDelta, encodeLinearDelta } from '../../../src/models/linear/delta.ts'
import { LinearExamples } from '../../../src/models/linear/model-generator.ts'
import {
  foldLinearStep,
  type OnlineLinearOptions,
  OnlineLinearRule,
} from '../../../src/models/linear/online-rule.ts'

const FEATURES = 1000

/** Learns examples one by one; answers the share predicted right over the last half. */
function learn(options: OnlineLinearOptions, count: number, scaleOf = (_: number) => 1): number {
  const rule = new OnlineLinearRule(options)
  const examples = new LinearExamples({ features: FEATURES, nonZeros: 20, noise: 0 })
  const random = seededRandom(3)
  const weights = new Float32Array(FEATURES)
  const memory = new Float32Array(2 * FEATURES)
  let right = 0
  for (let n = 0; n < count; n++) {
    const { label, ids, values: plain } = examples.next(random)
    const values = plain.map((value, k) => value * scaleOf(ids[k]!))
    const decision = ids.reduce((sum, id, k) => sum + weights[id]! * values[k]!, 0)
    if (2 * n >= count && decision > 0 === label > 0) right++
    const derivative = rule.derivative(decision, label, values)
    const indices = Uint16Array.from(ids)
    const rate = rule.rateOf(ids.length)
    foldLinearStep({ derivative, rate, indices, values }, weights, memory)
  }
  return right / (count / 2)
}

describe('online learning of a linear model', () => {
  it.each(['hinge', 'logistic'] as const)('learns to predict well with %s loss', (loss) => {
    expect(learn({ loss }, 20_000)).toBeGreaterThan(0.9)
  })

  it('does not depend on the scale of features', () => {
    const plain = learn({ loss: 'logistic' }, 10_000)
    const scaled = learn({ loss: 'logistic' }, 10_000, (id) => 10 ** ((id % 7) - 3))
    expect(Math.abs(plain - scaled)).toBeLessThan(0.01)
  })

  it.each(['hinge', 'logistic'] as const)('has the derivative of the %s loss', (loss) => {
    const rule = new OnlineLinearRule({ loss })
    for (const decision of [-40, -2, -0.3, 0.4, 3, 40]) {
      for (const label of [1, -1]) {
        const h = 1e-6
        const slope =
          (rule.lossOf(decision + h, label) - rule.lossOf(decision - h, label)) / (2 * h)
        expect(rule.derivative(decision, label, Float32Array.of(1))).toBeCloseTo(slope, 4)
      }
    }
  })

  it('clips gradients to a norm', () => {
    const rule = new OnlineLinearRule({ loss: 'hinge', gradientClip: 1 })
    expect(rule.derivative(0, 1, Float32Array.of(3, 4))).toBeCloseTo(-0.2, 6)
    expect(rule.derivative(0, -1, Float32Array.of(0.3))).toBe(1)
  })

  it('has a gradient as many times as an observation counts', () => {
    const rule = new OnlineLinearRule({ loss: 'logistic' })
    const [one, three] = [1, 3].map((importance) =>
      rule.derivative(0.3, 1, Float32Array.of(1), importance),
    )
    expect(three! / one!).toBeCloseTo(3, 9)
  })

  it('keeps a published weight where its feature is larger than before, and shrinks a learned one', () => {
    const indices = Uint16Array.of(0, 1)
    const step = { derivative: 0, rate: 1, indices, values: Float32Array.of(4, 4) }
    const weights = Float32Array.of(3, 3)
    const memory = Float32Array.of(1, 1, -2, 2)
    foldLinearStep(step, weights, memory)
    expect([...weights]).toEqual([3, 1.5])
    expect([...memory]).toEqual([4, 1, -4, 4])
  })

  it('takes a weight without a memory for one of many examples', () => {
    const weights = Float32Array.of(3)
    const memory = new Float32Array(2)
    const step = (value: number) => ({
      ...{ derivative: 1, rate: 1, indices: Uint16Array.of(0) },
      values: Float32Array.of(value),
    })
    foldLinearStep(step(1), weights, memory)
    expect([...weights, ...memory]).toEqual([3, 10_000, -1])
    foldLinearStep(step(2), weights, memory)
    expect([...memory]).toEqual([40_004, -2])
    expect(weights[0]).toBeCloseTo(3 - 2 / (2 * Math.sqrt(40_004)), 5)
  })

  it('refuses a step whose squares are not finite, and changes nothing', () => {
    const weights = Float32Array.of(1, 2)
    const memory = new Float32Array(4)
    const values = Float32Array.of(1, 1e30)
    const indices = Uint16Array.of(0, 1)
    const step = { derivative: 1, rate: 1, indices, values }
    expect(foldLinearStep(step, weights, memory)).toBe(false)
    expect([...weights, ...memory]).toEqual([1, 2, 0, 0, 0, 0])
  })
})

describe('a delta of a linear model', () => {
  const delta = {
    attemptTag: 0xfe01,
    phase: 5,
    version: 3,
    partition: 2,
    offset: 2 ** 40 + 1,
    derivative: -0.5,
    rate: 0.25,
    ids: Uint32Array.of(1, 300, 2 ** 32 - 1),
    values: Float32Array.of(1, -2, 1),
  }

  it('has bytes that never change, and reads back', () => {
    const bytes = encodeLinearDelta(delta)
    expect(Buffer.from(bytes).toString('hex')).toBe(
      '020501fe03000000020000000010000000007042000000bf0000803e' +
        '0000803f000000c00000803f010000002c010000ffffffff',
    )
    expect(decodeLinearDelta(bytes)).toEqual(delta)
  })

  it('of an earlier build has no tag and no phase', () => {
    const { attemptTag: _, phase: __, ...untagged } = delta
    const bytes = encodeLinearDelta(untagged)
    expect([...bytes.subarray(0, 4)]).toEqual([2, 0, 0, 0])
    expect(decodeLinearDelta(bytes)).toEqual({ ...untagged, attemptTag: 0, phase: 0 })
  })

  it.each([
    ['another format', (bytes: Uint8Array) => bytes.fill(1, 0, 1)],
    ['a cut end', (bytes: Uint8Array) => bytes.subarray(0, -1)],
    ['a value that is not finite', (bytes: Uint8Array) => bytes.fill(0xff, 28, 32)],
    ['ids that fall', (bytes: Uint8Array) => bytes.fill(0xff, 40, 44)],
  ])('is refused with %s', (_, spoil) => {
    expect(() => decodeLinearDelta(spoil(encodeLinearDelta(delta)))).toThrow(
      expect.objectContaining({ code: 'UNPARSABLE_RECORD' }),
    )
  })
})
