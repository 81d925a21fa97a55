import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../../src/core/random.ts'
import { invertPacked } from '../../../../src/models/als/small-symmetric.ts'
import {
  drawGamma,
  drawNormalWishart,
  drawRowDistribution,
} from '../../../../src/training/bmf/drawing/hyperprior.ts'

const DRAWS = 20_000

describe('drawGamma', () => {
  it.each([1, 2.5, 40])('has the mean and variance of shape %f', (shape) => {
    const random = seededRandom(2)
    let [sum, squares] = [0, 0]
    for (let i = 0; i < DRAWS; i++) {
      const x = drawGamma(shape, random)
      sum += x
      squares += (x - shape) ** 2
    }
    expect(Math.abs(sum / DRAWS / shape - 1)).toBeLessThan(0.04)
    expect(Math.abs(squares / DRAWS / shape - 1)).toBeLessThan(0.08)
  })
})

describe('drawNormalWishart', () => {
  const n = 3
  // Packed: 2, 0.5 3, -0.4 0.2 1.5.
  const inverseScale = Float64Array.of(2, 0.5, 3, -0.4, 0.2, 1.5)
  const scale = invertPacked(inverseScale, n)!
  const center = Float64Array.of(1, -2, 0.5)
  const [degrees, rows] = [12, 5]

  it('has precisions of mean degrees x scale, and means of covariance inverse scale / (rows x (degrees - n - 1))', () => {
    const random = seededRandom(9)
    const precisions = new Float64Array(n * n)
    const means = new Float64Array(n)
    const covariance = new Float64Array(n * n)
    for (let d = 0; d < DRAWS; d++) {
      const drawn = drawNormalWishart({ center, rows, inverseScale, degrees }, random)
      for (let i = 0; i < n; i++) {
        means[i]! += drawn.mean[i]! / DRAWS
        for (let j = 0; j < n; j++) {
          precisions[i * n + j]! += drawn.precision[i * n + j]! / DRAWS
          covariance[i * n + j]! +=
            ((drawn.mean[i]! - center[i]!) * (drawn.mean[j]! - center[j]!)) / DRAWS
        }
      }
    }
    for (let i = 0; i < n; i++) {
      expect(Math.abs(means[i]! - center[i]!)).toBeLessThan(0.02)
      for (let j = 0; j < n; j++) {
        const [a, b] = [Math.max(i, j), Math.min(i, j)]
        const at = (a * (a + 1)) / 2 + b
        expect(Math.abs(precisions[i * n + j]! - degrees * scale[at]!)).toBeLessThan(0.15)
        const expected = inverseScale[at]! / (rows * (degrees - n - 1))
        expect(Math.abs(covariance[i * n + j]! - expected)).toBeLessThan(0.006)
      }
    }
  })
})

describe('drawRowDistribution', () => {
  it('finds the mean and the covariance of many rows', () => {
    const random = seededRandom(4)
    const count = 20_000
    const sum = new Float64Array(2)
    const products = new Float64Array(4)
    for (let r = 0; r < count; r++) {
      const x = 0.5 * random.normal()
      const row = [1 + x, -2 + x + 0.3 * random.normal()]
      for (let i = 0; i < 2; i++) {
        sum[i]! += row[i]!
        for (let j = 0; j < 2; j++) products[i * 2 + j]! += row[i]! * row[j]!
      }
    }
    const { mean, precision } = drawRowDistribution({ count, sum, products }, random)
    expect(Math.abs(mean[0]! - 1)).toBeLessThan(0.02)
    expect(Math.abs(mean[1]! + 2)).toBeLessThan(0.03)
    // The covariance is [0.25 0.25; 0.25 0.34].
    const determinant = precision[0]! * precision[3]! - precision[1]! * precision[2]!
    expect(Math.abs(precision[3]! / determinant - 0.25)).toBeLessThan(0.015)
    expect(Math.abs(-precision[1]! / determinant - 0.25)).toBeLessThan(0.015)
    expect(Math.abs(precision[0]! / determinant - 0.34)).toBeLessThan(0.02)
  })
})
