import { describe, expect, it } from 'vitest'
import { waitingFor } from '../../../src/rest/json/waiting.ts'

describe('for what a job waits', () => {
  const metrics = {
    'clicks.0.brokerOutageMs': 4_000,
    'clicks.1.brokerOutageMs': 12_700,
    'out.v2.0.brokerOutageMs': 3_000,
    'quick.0.brokerOutageMs': 2_999,
    'clicks.0.numRecordsIn': 9_000,
  }

  it('is said for each source and sink that cannot reach its brokers for 3 s, with the longest time', () => {
    expect(waitingFor({ status: 'RUNNING', metrics })).toEqual([
      'clicks waits for Kafka, for 12 s; the log says the address and the cause',
      'out.v2 waits for Kafka, for 3 s; the log says the address and the cause',
    ])
  })

  it('is nothing when the brokers are back, and when the job does not run', () => {
    expect(waitingFor({ status: 'RUNNING', metrics: { 'clicks.0.brokerOutageMs': 0 } })).toEqual([])
    expect(waitingFor({ status: 'RESTARTING', metrics })).toEqual([])
  })
})
