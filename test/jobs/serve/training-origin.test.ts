import { expect, it } from 'vitest'
import { originText } from '../../../src/jobs/serve/training-origin.ts'

const sha256 = 'a'.repeat(64)

it('a version that was trained on a file says how much of what it has, and how new', () => {
  const trainedOn = { files: [{ file: 'base.csv', sha256 }], ranges: [], newestEventMs: 0 }
  expect(originText({ trainedOn, metrics: { observations: 8000 } })).toBe(
    'it was trained on 8,000 observations of base.csv, the newest of 1970-01-01T00:00:00.000Z, and does not say which of them are in the topic',
  )
  expect(originText({ trainedOn: { ...trainedOn, newestEventMs: -1 }, metrics: {} })).toBe(
    'it was trained on base.csv, and does not say which of them are in the topic',
  )
})

it('a version of an earlier build says nothing', () => {
  const unknown = 'it does not say which observations it was trained on'
  expect(originText({ metrics: {} })).toBe(unknown)
  const trainedOn = { files: [], ranges: [], newestEventMs: -1 }
  expect(originText({ trainedOn, metrics: {} })).toBe(unknown)
})
