import type { JobRecord } from '../../../../src/cluster/jobmanager/store/job-record.ts'
import { NO_FAILURES } from '../../../../src/runtime/configuration/restart-strategy.ts'
import { JOB_ID } from '../../rest/snapshot.ts'

/** The record of a submitted job. */
export function jobRecord(changes: Partial<JobRecord> = {}): JobRecord {
  return {
    id: JOB_ID,
    submission: { job: 'als-serving', options: { topic: 'als-model' } },
    queryPort: 9069,
    submittedMs: 500,
    hasEnded: false,
    earlierAttempts: 0,
    failures: [],
    restarts: NO_FAILURES,
    pid: 17,
    snapshot: undefined,
    ...changes,
  }
}
