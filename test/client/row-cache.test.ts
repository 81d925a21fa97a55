import { describe, expect, it } from 'vitest'
import { RowCache } from '../../src/client/row-cache.ts'
import type { Clock } from '../../src/core/clock.ts'
import { WeirError } from '../../src/core/errors.ts'
import type { Answer } from '../../src/wire/model-reader.ts'

let now = 0
const clock: Clock = {
  nowMs: () => now,
  monotonicMs: () => now,
  after: () => () => {},
}

const row = (modelVersion: number, ageMs = 2): Answer<Float32Array> => ({
  ok: true,
  value: Float32Array.of(modelVersion),
  envelope: { modelVersion, partition: 0, offset: 1, checkpointId: 1, ageMs, servedBy: 'q/0' },
})

function cacheWith(maxRows: number): RowCache {
  now = 1000
  return new RowCache({ maxRows, maxAgeMs: 100 }, clock)
}

describe('RowCache', () => {
  it('gives a row with its higher age', () => {
    const cache = cacheWith(10)
    cache.put('S', 0, 'a', row(1))
    now += 30
    expect(cache.get('S', 0, 'a')).toMatchObject({ ok: true, envelope: { ageMs: 32 } })
  })

  it('drops a row that is older than the limit', () => {
    const cache = cacheWith(10)
    cache.put('S', 0, 'a', row(1))
    now += 101
    expect(cache.get('S', 0, 'a')).toBeUndefined()
    expect(cache.size).toBe(0)
  })

  it('gives no row that is older than the caller allows', () => {
    const cache = cacheWith(10)
    cache.put('S', 0, 'a', row(1, 5))
    now += 30
    expect(cache.get('S', 0, 'a', 34)).toBeUndefined()
    expect(cache.get('S', 0, 'a', 35)).toBeDefined()
  })

  it('does not give live rows of a version that is no longer live', () => {
    const cache = cacheWith(10)
    cache.put('S', 0, 'a', row(1))
    cache.put('S', 1, 'a', row(1))
    cache.put('S', 0, 'b', row(2))
    expect(cache.get('S', 0, 'a')).toBeUndefined()
    expect(cache.get('S', 1, 'a')).toBeDefined()
    expect(cache.get('S', 0, 'b')).toBeDefined()
  })

  it('drops the row that was used longest ago', () => {
    const cache = cacheWith(2)
    cache.put('S', 0, 'a', row(1))
    cache.put('S', 0, 'b', row(1))
    cache.get('S', 0, 'a')
    cache.put('S', 0, 'c', row(1))
    expect(cache.get('S', 0, 'b')).toBeUndefined()
    expect(cache.get('S', 0, 'a')).toBeDefined()
    expect(cache.size).toBe(2)
  })

  it('caches no failures', () => {
    const cache = cacheWith(2)
    cache.put('S', 0, 'a', { ok: false, error: new WeirError('UNKNOWN_KEY', 'no') })
    expect(cache.size).toBe(0)
  })
})
