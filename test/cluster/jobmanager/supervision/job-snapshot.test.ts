import { describe, expect, it } from 'vitest'
import {
  jobSnapshotOf,
  recordAfterLoss,
} from '../../../../src/cluster/jobmanager/supervision/job-snapshot.ts'
import { PROCESS, snapshot } from '../../rest/snapshot.ts'
import { jobRecord } from '../store/record.ts'

const FACTS = { sinceMs: 7000, nowMs: 8000, jobManager: PROCESS }
const LOSS = { atMs: 7000, code: 'JOB_PROCESS_LOST', message: 'lost' }

describe('the snapshot of a job in the JobManager', () => {
  it('is that of its process, from the time of submission on', () => {
    const shown = jobSnapshotOf(snapshot(), {
      ...FACTS,
      record: jobRecord(),
      withoutProcess: undefined,
    })
    expect(shown).toMatchObject({ status: 'RUNNING', timestamps: { CREATED: 500, RUNNING: 1500 } })
  })

  it('adds attempts and failures of lost processes to those of the present one', () => {
    const failure = { attempt: 2, atMs: 1, code: 'X', message: 'x', stack: 'x', task: undefined }
    const sent = snapshot({ attempt: 3, failures: [failure] })
    const record = recordAfterLoss(jobRecord(), sent, LOSS)
    const between = jobSnapshotOf(record.snapshot, {
      ...FACTS,
      record,
      withoutProcess: 'RESTARTING',
    })
    expect(between).toMatchObject({
      status: 'RESTARTING',
      attempt: 3,
      slots: [{ status: 'down' }, {}],
    })
    expect(between.failures.map(({ code }) => code)).toEqual(['X', 'JOB_PROCESS_LOST'])
    const again = jobSnapshotOf(snapshot({ attempt: 1 }), {
      ...FACTS,
      record,
      withoutProcess: undefined,
    })
    expect(again).toMatchObject({ attempt: 4, metrics: { numRestarts: 3 } })
    expect(again.failures).toHaveLength(2)
  })

  it('of a job that has no slots any more shows none', () => {
    const record = recordAfterLoss(jobRecord(), snapshot(), LOSS)
    const shown = jobSnapshotOf(record.snapshot, { ...FACTS, record, withoutProcess: 'FAILED' })
    expect(shown).toMatchObject({ status: 'FAILED', slots: [], timestamps: { FAILED: 7000 } })
  })

  it('of a job that never started has its name and no vertices', () => {
    const shown = jobSnapshotOf(undefined, {
      ...FACTS,
      record: jobRecord(),
      withoutProcess: 'CREATED',
    })
    expect(shown).toMatchObject({ name: 'als-serving', status: 'CREATED', vertices: [] })
  })

  it('keeps the last twenty failures', () => {
    let record = jobRecord()
    for (let n = 0; n < 30; n++) record = recordAfterLoss(record, undefined, { ...LOSS, atMs: n })
    expect(record.failures.map(({ atMs }) => atMs)).toEqual(
      Array.from({ length: 20 }, (_, i) => 10 + i),
    )
    expect(record.earlierAttempts).toBe(30)
  })
})
