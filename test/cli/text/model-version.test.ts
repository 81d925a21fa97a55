import { describe, expect, it } from 'vitest'
import { versionLine, versionText } from '../../../src/cli/text/model-version.ts'
import type { RegisteredVersion } from '../../../src/models/registry/version.ts'

const versionWith = (
  metrics: Readonly<Record<string, number>>,
  rows: Pick<RegisteredVersion, 'users' | 'items'> = { users: 30, items: 12 },
): RegisteredVersion => ({
  name: 'als-model',
  processingName: 'published-1',
  id: '8ad1',
  number: 3,
  topic: 'als-model',
  createdMs: 0,
  dimension: 4,
  state: 'live',
  checks: [],
  notes: [],
  lineage: {
    code: '1',
    ranges: [],
    files: [],
    hyperparameters: {},
    metrics,
    newestEventMs: -1,
  },
  ...rows,
})

describe('a version as text', () => {
  it('shows a count as a whole number, and an error with four decimals', () => {
    expect(versionLine(versionWith({ observations: 60_000 }))).toContain('observations 60000  ')
    expect(versionLine(versionWith({ rmse: 0.91237 }))).toContain('rmse 0.9124')
  })

  it('uses the singular for one row', () => {
    expect(versionText(versionWith({}, { users: 1, items: 2 }), 0)).toContain(
      'rows             1 user, 2 items, 4 floats each',
    )
    expect(versionLine(versionWith({}, { users: 0, items: 1 }))).toContain(' 1 block ')
  })

  it('names the topic of the training data with its id', () => {
    const version = versionWith({})
    const range = { topic: 'ratings', partition: 0, from: 0, to: 9 }
    const lines = (more: object): readonly string[] => {
      const ranges = [{ ...range, ...more }]
      return versionText({ ...version, lineage: { ...version.lineage, ranges } }, 0)
    }
    expect(lines({ topicId: 'a', clusterId: 'c' })).toContain(
      'topic            ratings, id a, of c',
    )
    expect(lines({ topicId: 'a' })).toContain('topic            ratings, id a')
    expect(lines({})).toContain('topic            ratings, id not known')
  })
})
