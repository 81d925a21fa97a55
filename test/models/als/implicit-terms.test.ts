import { describe, expect, it } from 'vitest'
import { decodeTerms, encodeTerms, implicitTerms } from '../../../src/models/als/implicit-terms.ts'
import { PublishedMoments } from '../../../src/models/als/published-moments.ts'
import type { ModelVersionMarker } from '../../../src/models/registry/version-marker.ts'

const HYPERPARAMETERS = {
  feedback: 'implicit',
  alpha: 2,
  regularization: 3,
  penalty: 'sqrt-n',
} as const

function marker(dimension: number, hyperparameters: Readonly<Record<string, number | string>>) {
  const moments = new PublishedMoments(dimension)
  const row = (...values: number[]): Float32Array =>
    Float32Array.from({ length: dimension }, (_, i) => values[i] ?? 0)
  moments.add('U', row(5, 5))
  for (const values of [
    [1, 2],
    [3, -1],
  ])
    moments.add('I', row(...values))
  const counts = { users: 1, items: 2, globalMean: 0, metrics: {} }
  const version = {
    event: 'ready',
    version: 1,
    name: 'ALS_MODEL',
    dimension,
    biased: false,
  } as const
  return { ...version, ...counts, hyperparameters, ...moments.encode() } as ModelVersionMarker
}

describe('the terms of a version of implicit feedback', () => {
  it('are its settings and the Gram matrix of its items, and come back from a routing table', () => {
    const terms = implicitTerms(marker(2, HYPERPARAMETERS))!
    expect(terms).toMatchObject({ alpha: 2, regularization: 3, penalty: 'sqrt-n' })
    expect([...terms.gram]).toEqual([10, -1, 5])
    expect(decodeTerms(encodeTerms(terms), 2)).toEqual(terms)
  })

  it.each([
    ['of explicit feedback', 2, { ...HYPERPARAMETERS, feedback: 'explicit' }],
    ['that does not say its feedback', 2, {}],
    ['that does not say its alpha', 2, { ...HYPERPARAMETERS, alpha: '1' }],
    ['with a lambda of 0', 2, { ...HYPERPARAMETERS, regularization: 0 }],
    ['with a penalty of another kind', 2, { ...HYPERPARAMETERS, penalty: 'log-n' }],
    ['with rows so long that only their means are published', 65, HYPERPARAMETERS],
  ])('are none for one %s', (_, dimension, hyperparameters) => {
    expect(implicitTerms(marker(dimension, hyperparameters))).toBeUndefined()
  })

  it('are none without moments, or with those of rows with biases', () => {
    const whole = marker(2, HYPERPARAMETERS)
    const { rowMoments: _, ...without } = whole
    expect(implicitTerms(without)).toBeUndefined()
    expect(implicitTerms({ ...whole, biased: true })).toBeUndefined()
  })

  it('of rows of another length, or of a penalty of a later build, are none', () => {
    const encoded = encodeTerms(implicitTerms(marker(2, HYPERPARAMETERS))!)
    expect(decodeTerms(encoded, 3)).toBeUndefined()
    expect(decodeTerms({ ...encoded, penalty: 'log-n' }, 2)).toBeUndefined()
  })
})
