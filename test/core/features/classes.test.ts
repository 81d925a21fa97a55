import { describe, expect, it } from 'vitest'
import {
  bestClass,
  classesOf,
  classParameters,
  classVectors,
} from '../../../src/core/features/classes.ts'

describe('the weights of several classes', () => {
  it('are asked for with an example for each class, and the constant feature of it', () => {
    const classes = { labels: [1, 2, 5], features: 10, stride: 11 }
    const features = { ids: Uint32Array.of(0, 9, 10, 4000), values: Float32Array.of(3, 4, 5, 6) }
    const { vectors, beyond } = classVectors(features, classes)
    expect(vectors.map(({ ids }) => [...ids])).toEqual([
      [0, 9, 10],
      [11, 20, 21],
      [22, 31, 32],
    ])
    for (const { values } of vectors) expect([...values]).toEqual([3, 4, 1])
    expect(beyond).toBe(2)
  })

  it('have no constant feature where no class has an intercept', () => {
    const classes = { labels: [1, 2], features: 10, stride: 10 }
    const features = { ids: Uint32Array.of(3), values: Float32Array.of(2) }
    const { vectors } = classVectors(features, classes)
    expect(vectors.map(({ ids }) => [...ids])).toEqual([[3], [13]])
  })

  it('are said by a version as it says its other settings', () => {
    const classes = { labels: [-1, 0.5, 3], features: 10, stride: 11 }
    expect(classesOf(classParameters(classes))).toEqual(classes)
    expect(classParameters(undefined)).toEqual({})
    expect(classesOf({ positiveLabel: 1, negativeLabel: -1 })).toBeUndefined()
  })

  it('say the first class of those that score highest', () => {
    expect(bestClass([1, 3, 3, 2])).toBe(1)
    expect(bestClass([-2])).toBe(0)
  })
})
