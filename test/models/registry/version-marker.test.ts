import { describe, expect, it } from 'vitest'
import {
  decodeMarker,
  encodeMarker,
  isMarkerKey,
  type ModelVersionMarker,
  markerKey,
} from '../../../src/models/registry/version-marker.ts'

const marker: ModelVersionMarker = {
  event: 'ready',
  version: 3,
  name: 'ALS_MODEL',
  dimension: 52,
  biased: true,
  users: 943,
  items: 1650,
  globalMean: 3.52,
  minRating: 1,
  maxRating: 5,
  hyperparameters: { factors: 50, penalty: 'sqrt-n' },
  metrics: { rmse: 0.92 },
}

const bytesOf = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value))

describe('a version marker', () => {
  it('is read as it was written', () => {
    expect(decodeMarker(encodeMarker(marker))).toEqual(marker)
    const trainedOn = {
      files: [{ file: 'base.csv', sha256: 'a'.repeat(64) }],
      ranges: [{ topic: 'ratings', partition: 0, from: 0, to: 8 }],
      newestEventMs: -1,
    }
    expect(decodeMarker(encodeMarker({ ...marker, trainedOn }))).toEqual({ ...marker, trainedOn })
  })

  it('has no range of ratings where that is without ends, as of implicit feedback', () => {
    const endless = { ...marker, minRating: -Infinity, maxRating: Infinity }
    const { minRating: _, maxRating: __, ...others } = marker
    expect(decodeMarker(encodeMarker(endless))).toEqual(others)
  })

  it('is JSON under a key that no row has', () => {
    expect(markerKey(3)).toBe('!version@3')
    expect(new TextDecoder().decode(encodeMarker(marker))).toMatch(
      /^\{"event":"ready","version":3,/,
    )
    expect(isMarkerKey(new TextEncoder().encode('!version@3'))).toBe(true)
    for (const key of ['', '!version@', '!versiom@3', '3-U@3']) {
      expect(isMarkerKey(new TextEncoder().encode(key))).toBe(false)
    }
  })

  it.each([
    ['event', 'explode'],
    ['version', 0],
    ['name', ''],
    ['dimension', 1.5],
    ['biased', 'yes'],
    ['users', -1],
    ['items', null],
    ['globalMean', '3'],
    ['hyperparameters', 7],
    ['metrics', null],
    ['trainedOn', 'base.csv'],
    ['trainedOn', { files: [{ file: 'a', sha256: 'x' }], ranges: [], newestEventMs: 1 }],
    ['trainedOn', { files: [], ranges: [{ topic: 'a' }], newestEventMs: 1 }],
    ['trainedOn', { files: [], ranges: [] }],
  ])('is refused with a wrong %s, which the error names', (field, value) => {
    expect(() => decodeMarker(bytesOf({ ...marker, [field]: value }))).toThrow(
      expect.objectContaining({ code: 'UNPARSABLE_RECORD', details: { field } }),
    )
  })

  it.each(['', '{', 'null', '7'])('is refused as %j', (text) => {
    expect(() => decodeMarker(new TextEncoder().encode(text))).toThrow(
      expect.objectContaining({ code: 'UNPARSABLE_RECORD' }),
    )
  })

  it('is not written with a field out of range', () => {
    expect(() => encodeMarker({ ...marker, version: 0 })).toThrow(/version is missing/)
  })
})
