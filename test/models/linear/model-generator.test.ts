import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { LibsvmWriter } from '../../../src/models/linear/libsvm-writer.ts'
import { GeneratedWeights, LinearExamples } from '../../../src/models/linear/model-generator.ts'

const digest = (bytes: Uint8Array): string =>
  createHash('sha256').update(bytes).digest('hex').slice(0, 16)

describe('a generated linear model', () => {
  it('has the weights that the data sets page says', () => {
    const weights = new Float32Array(5000)
    new GeneratedWeights({ features: 5000 }).fill(0, weights)
    expect(digest(new Uint8Array(weights.buffer))).toBe('56bfd5db20f83048')
  })

  it('has the same weights whichever part of it is generated', () => {
    const model = new GeneratedWeights({ features: 1000, seed: 3 })
    const whole = new Float32Array(1000)
    model.fill(0, whole)
    const part = new Float32Array(300)
    model.fill(800, part)
    expect([...part.subarray(0, 200)]).toEqual([...whole.subarray(800)])
    expect(part.subarray(200).every((weight) => weight === 0)).toBe(true)
  })

  it('has near-normal weights for the requested share of features', () => {
    const weights = new Float32Array(100_000)
    new GeneratedWeights({ features: 100_000, density: 0.3 }).fill(0, weights)
    const given = weights.filter((weight) => weight !== 0)
    expect(given.length / 100_000).toBeCloseTo(0.3, 2)
    const square = given.reduce((sum, weight) => sum + weight * weight, 0) / given.length
    expect(square).toBeCloseTo(1, 1)
  })
})

describe('generated examples', () => {
  it('have the bytes that the data sets page says', () => {
    const examples = new LinearExamples({ features: 10_000, nonZeros: 20 })
    const random = seededRandom(1)
    const writer = new LibsvmWriter()
    for (let n = 0; n < 100; n++) {
      const { label, ids, values } = examples.next(random)
      writer.add(label, ids, values)
    }
    expect(digest(writer.bytes.subarray(0, writer.length))).toBe('2496c07677b3b2a7')
  })

  it('have ascending ids of the model, as many as requested, at any size', () => {
    const random = seededRandom(2)
    for (const features of [234, 100_003, 2 ** 32 - 1]) {
      const examples = new LinearExamples({ features })
      for (let n = 0; n < 20; n++) {
        const { ids } = examples.next(random)
        expect(ids).toHaveLength(117)
        expect(ids.every((id, k) => id < features && (k === 0 || id > ids[k - 1]!))).toBe(true)
      }
    }
  })

  it('draw features by Zipf, each rank another feature', () => {
    const features = 1000
    const examples = new LinearExamples({ features, nonZeros: 1, exponent: 1 })
    const random = seededRandom(5)
    const counts = new Float64Array(features)
    for (let n = 0; n < 100_000; n++) counts[examples.next(random).ids[0]!]!++
    const total = Array.from({ length: features }, (_, r) => 1 / (r + 1)).reduce((a, b) => a + b)
    const ranked = Array.from({ length: features }, (_, r) => examples.featureOfRank(r))
    expect(new Set(ranked).size).toBe(features)
    for (const rank of [2, 9, 99]) {
      const expected = 100_000 / total / (rank + 1)
      expect(counts[ranked[rank]!]! / expected).toBeGreaterThan(0.8)
      expect(counts[ranked[rank]!]! / expected).toBeLessThan(1.2)
    }
  })

  it('are labelled by the model behind them but for the share of noise', () => {
    const examples = new LinearExamples({ features: 50_000, noise: 0.1 })
    const random = seededRandom(9)
    let turned = 0
    for (let n = 0; n < 5000; n++) {
      const { label, ids, values } = examples.next(random)
      const decision = ids.reduce((sum, id, k) => sum + examples.truth.weight(id) * values[k]!, 0)
      if (decision > 0 !== label > 0) turned++
    }
    expect(turned / 5000).toBeCloseTo(0.1, 1)
  })
})
