import { describe, expect, it } from 'vitest'
import {
  decideFirstObservations,
  decideLaterObservations,
  type FirstFacts,
  type FirstObservations,
} from '../../../src/jobs/serve/first-observations.ts'

const READ = { format: 1, count: 8000, sum: 'a'.repeat(16) } as const
const FILE = { file: 'base.csv', sha256: 'a'.repeat(64), read: READ }

/** A version that was trained on a file with a digest, in a topic of 9,000 records in two partitions. */
const FACTS: FirstFacts = {
  offsets: { kind: 'not-said' },
  observations: 'ratings',
  bounds: [
    { partition: 0, start: 10, end: 5010 },
    { partition: 1, start: 0, end: 4000 },
  ],
  marker: {
    trainedOn: { files: [FILE], ranges: [], newestEventMs: 1000 },
    metrics: { observations: 8000 },
  },
  inTopic: { kind: 'not-first', count: 9000, newer: 1000 },
  learnFrom: undefined,
}

const decide = (facts: Partial<FirstFacts>): FirstObservations =>
  decideFirstObservations({ ...FACTS, ...facts })

const TRAINED_ON =
  'it was trained on 8,000 observations of base.csv, the newest of 1970-01-01T00:00:01.000Z'
const ENDS = [
  { partition: 0, start: 10, next: 5010 },
  { partition: 1, start: 0, next: 4000 },
]

describe('a version that was trained on a file', () => {
  it('is learned from after its observations where they are the first ones of the topic', () => {
    const next = new Map([
      [0, 4500],
      [1, 3500],
    ])
    expect(decide({ inTopic: { kind: 'first', count: 8000, next } })).toEqual({
      kind: 'at',
      offsets: [
        { partition: 0, start: 10, next: 4500 },
        { partition: 1, start: 0, next: 3500 },
      ],
      note: 'the first 8,000 observations of topic ratings are those of base.csv that it was trained on, so learning begins after them',
    })
  })

  it('is learned from the start where all that is there is newer', () => {
    expect(decide({ inTopic: { kind: 'not-first', count: 9000, newer: 9000 } })).toEqual({
      kind: 'all',
      note: `${TRAINED_ON}; the 9,000 records of topic ratings that are there are newer, so they are learned`,
    })
  })

  it('asks where some may be those of the file', () => {
    expect(decide({})).toEqual({
      kind: 'ask',
      question: `${TRAINED_ON}, and the first records of the topic are not these observations as a whole, so some of the 9,000 records of topic ratings that are there may be among them: they would be learned twice. Say what to do with them: --learn-from start learns them all, --learn-from end none of them and what comes from now on`,
    })
  })

  it('is learned from where the person says', () => {
    expect(decide({ learnFrom: 'start', inTopic: undefined })).toEqual({ kind: 'all' })
    expect(decide({ learnFrom: 'end', inTopic: undefined })).toMatchObject({
      kind: 'at',
      offsets: ENDS,
      note: `${TRAINED_ON}; the 9,000 records of topic ratings that are there are left out`,
    })
  })

  it('has nothing to say about an empty topic', () => {
    const bounds = [{ partition: 0, start: 7, end: 7 }]
    expect(decide({ bounds, inTopic: { kind: 'not-first', count: 0, newer: 0 } })).toEqual({
      kind: 'all',
    })
  })

  it('of an earlier build, without a digest, is learned from the start, which is said', () => {
    const { read: _, ...file } = FILE
    const trainedOn = { files: [file], ranges: [], newestEventMs: -1 }
    const marker = { trainedOn, metrics: {} }
    expect(decide({ marker, inTopic: undefined })).toEqual({
      kind: 'all',
      note: 'it was trained on base.csv, and does not say which of them are in the topic, so the 9,000 records of topic ratings that are there are learned (--learn-from end leaves them out)',
    })
  })
})

describe('a version that was trained on a topic', () => {
  const resumes = { kind: 'resumes', offsets: ENDS, isAssumed: false, isGone: false } as const

  it('is learned from after its training, whatever else was said', () => {
    const marker = { metrics: {} }
    for (const learnFrom of [undefined, 'start', 'end'] as const) {
      expect(decide({ marker, offsets: resumes, inTopic: undefined, learnFrom })).toEqual({
        kind: 'resumes',
        offsets: ENDS,
      })
    }
  })

  it('says what is assumed and what cannot be compared', () => {
    expect(decide({ offsets: { ...resumes, isAssumed: true } })).toMatchObject({
      kind: 'resumes',
      note: expect.stringContaining('does not say the id of the topic'),
    })
    expect(decide({ offsets: { ...resumes, isGone: true } })).toMatchObject({
      kind: 'resumes',
      note: 'topic ratings has removed the records that it was trained on, so they cannot be compared; learning begins after the training',
    })
  })

  it('asks where the topic has other records by now, and takes the answer', () => {
    const offsets = { kind: 'other-records', what: 'this differs' } as const
    expect(decide({ offsets, inTopic: undefined })).toMatchObject({
      kind: 'ask',
      question: expect.stringMatching(
        /not on the records that are there now \(this differs\).*--learn-from start .*--learn-from end/,
      ),
    })
    expect(decide({ offsets, inTopic: undefined, learnFrom: 'start' })).toEqual({ kind: 'all' })
    expect(decide({ offsets, inTopic: undefined, learnFrom: 'end' })).toMatchObject({
      kind: 'at',
      offsets: ENDS,
    })
  })

  it('that is another one is learned from the start, which is said', () => {
    const offsets = { kind: 'elsewhere' } as const
    expect(decide({ offsets, inTopic: undefined })).toEqual({
      kind: 'all',
      note: 'it was trained on another topic than this ratings, so the 9,000 records of topic ratings that are there are learned (--learn-from end leaves them out)',
    })
  })
})

describe('a version that goes live beside a job that learns', () => {
  it('is learned from after its file, or from the start where all is newer', () => {
    const next = new Map([[0, 4500]])
    const inTopic = { kind: 'first', count: 8000, next } as const
    expect(decideLaterObservations({ ...FACTS, inTopic })).toEqual(decide({ inTopic }))
    const newer = { kind: 'not-first', count: 9000, newer: 9000 } as const
    expect(decideLaterObservations({ ...FACTS, inTopic: newer })).toMatchObject({
      kind: 'at',
      offsets: [
        { partition: 0, next: 10 },
        { partition: 1, next: 0 },
      ],
    })
  })

  it('is learned from where the job is, which is said, where nobody knows better', () => {
    const note = `${TRAINED_ON}, so learning goes on where it is in topic ratings; what was learned before is not in this version`
    expect(decideLaterObservations(FACTS)).toEqual({ kind: 'goes-on', note })
    const elsewhere = { ...FACTS, offsets: { kind: 'elsewhere' }, inTopic: undefined } as const
    expect(decideLaterObservations(elsewhere).kind).toBe('goes-on')
    const offsets = { kind: 'resumes', offsets: ENDS, isAssumed: false, isGone: false } as const
    expect(decideLaterObservations({ ...FACTS, offsets })).toEqual({
      kind: 'resumes',
      offsets: ENDS,
    })
  })
})
