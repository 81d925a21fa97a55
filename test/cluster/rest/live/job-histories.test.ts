import { expect, it } from 'vitest'
import {
  JobHistories,
  SAMPLE_MS,
  SAMPLES,
} from '../../../../src/cluster/rest/live/job-histories.ts'
import type { JobSnapshot } from '../../../../src/cluster/rest/port/job-snapshot.ts'
import { ManualClock } from '../../../../src/testing/manual-clock.ts'
import { JOB_ID, snapshot } from '../snapshot.ts'

function historiesOf(clock: ManualClock, jobs: () => readonly JobSnapshot[]): JobHistories {
  return new JobHistories({ jobs: async () => jobs() }, clock)
}

it('samples the metrics of running jobs, and what learning jobs have learned', async () => {
  const clock = new ManualClock()
  const metrics = { 'count.0.numRecordsIn': 5, 'count.0.ratingsLearned': 7 }
  const histories = historiesOf(clock, () => [snapshot({ nowMs: 9000, metrics })])
  await histories.sample()
  expect(histories.of(JOB_ID)?.read(['count.0.numRecordsIn', 'learning.learned'], 9)).toEqual({
    times: [9000],
    values: [[5], [7]],
  })
})

it('keeps the history of a job that ended for ten minutes, and none of a job that is forgotten', async () => {
  const clock = new ManualClock()
  let jobs = [snapshot({ nowMs: clock.nowMs() })]
  const histories = historiesOf(clock, () => jobs)
  await histories.sample()
  jobs = [snapshot({ status: 'FINISHED', nowMs: clock.nowMs() })]
  await histories.sample()
  expect(histories.of(JOB_ID)?.read([], 9).times).toHaveLength(1)
  clock.advance(SAMPLES * SAMPLE_MS + 1)
  await histories.sample()
  expect(histories.of(JOB_ID)).toBeUndefined()
  jobs = [snapshot({ nowMs: clock.nowMs() })]
  await histories.sample()
  jobs = []
  await histories.sample()
  expect(histories.of(JOB_ID)).toBeUndefined()
})

it('goes on after a sample that failed, until it is disposed of', async () => {
  const clock = new ManualClock()
  let asked = 0
  const histories = historiesOf(clock, () => {
    asked += 1
    if (asked === 1) throw new Error('no answer')
    return []
  })
  histories.start()
  for (const expected of [1, 2]) {
    clock.advance(SAMPLE_MS)
    await new Promise(setImmediate)
    expect(asked).toBe(expected)
  }
  histories[Symbol.dispose]()
  clock.advance(SAMPLE_MS)
  expect(asked).toBe(2)
})
