import { describe, expect, it } from 'vitest'
import { notReadyBecause, waitingFor } from '../../../../src/cluster/rest/json/waiting.ts'
import type { WaitSnapshot } from '../../../../src/cluster/rest/port/job-snapshot.ts'

const nowMs = 1_000_000
const kafka: WaitSnapshot = {
  operator: 'clicks',
  code: 'CONNECTOR_FAILED',
  waitsFor: 'Kafka',
  why: 'no connection to Kafka at k1:9092: refused',
  sinceMs: nowMs - 12_700,
}
const hdfs: WaitSnapshot = {
  ...kafka,
  operator: undefined,
  waitsFor: 'HDFS',
  why: 'nn:9870: silent',
}
const silent: WaitSnapshot = {
  operator: 'clicks',
  code: 'WATERMARK_HELD_BACK',
  waitsFor: 'records of silent partitions',
  why: 'no output: partition 2 of clicks has had no record for 60 s and no idle timeout is set',
  sinceMs: nowMs - 61_000,
}
const job = { name: 'fraud', status: 'RUNNING', nowMs, waits: [kafka, hdfs, silent] } as const

describe('for what a job waits', () => {
  it('is said for each operator and the checkpoints, with the time and the cause', () => {
    expect(waitingFor(job)).toEqual([
      'clicks waits for Kafka, for 12 s: no connection to Kafka at k1:9092: refused',
      'checkpoints wait for HDFS, for 12 s: nn:9870: silent',
      'clicks waits for records of silent partitions, for 61 s: no output: partition 2 of clicks has had no record for 60 s and no idle timeout is set',
    ])
  })

  it('is also said of a job that has not started or restarts, and not of one that has ended', () => {
    expect(waitingFor({ ...job, status: 'RESTARTING', waits: [kafka] })).toHaveLength(1)
    expect(waitingFor({ ...job, status: 'FAILED' })).toEqual([])
    expect(waitingFor({ status: 'RUNNING', nowMs })).toEqual([])
  })
})

describe('why a job is not ready', () => {
  it('is a service that does not answer, without its address, and not a partition without records', () => {
    expect(notReadyBecause(job)).toEqual([
      'clicks waits for Kafka, for 12 s',
      'checkpoints wait for HDFS, for 12 s',
    ])
    expect(notReadyBecause({ ...job, waits: [silent] })).toEqual([])
  })

  it('is the state of a job that does not run', () => {
    expect(notReadyBecause({ ...job, status: 'RESTARTING' })).toEqual(['job fraud is RESTARTING'])
  })
})
