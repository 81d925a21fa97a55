import { describe, expect, it } from 'vitest'
import { liveEvent, liveText } from '../../../src/cli/serve/version-live.ts'
import type { ModelVersionMarker } from '../../../src/models/registry/version-marker.ts'

const MARKER: ModelVersionMarker = {
  event: 'ready',
  version: 2,
  name: 'ALS_MODEL',
  dimension: 4,
  biased: false,
  users: 30,
  items: 12,
  globalMean: 3,
  hyperparameters: {},
  metrics: {},
}

describe('a version that goes live', () => {
  it.each([
    ['all its rows', 42, 'version 2 is live (30 users)'],
    ['learned rows besides', 50, 'version 2 is live (30 users)'],
    ['rows that are still restored', undefined, 'version 2 is live (30 users)'],
    [
      'fewer rows than were published',
      10,
      'version 2 is live (30 users); warning: only 10 of its 42 rows are loaded; the others were dropped, or are no longer in the topic',
    ],
  ])('with %s', (_, rows, text) => {
    expect(liveText(2, MARKER, { rows, size: '30 users' })).toBe(text)
  })

  it('is an event with the rows that are loaded', () => {
    expect(liveEvent(2, MARKER, 10)).toEqual({
      event: 'live',
      version: 2,
      users: 30,
      items: 12,
      rows: 10,
    })
    expect(liveEvent(2, MARKER, undefined)).not.toHaveProperty('rows')
  })
})
