import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type {
  JobCall,
  JobCommand,
  JobReport,
} from '../../../../src/cluster/jobmanager/process/messages.ts'
import {
  type ParentChannel,
  SupervisedJob,
} from '../../../../src/cluster/jobmanager/process/supervised-job.ts'
import { WeirError } from '../../../../src/core/errors.ts'
import type { JobStatusListener } from '../../../../src/runtime/job/status.ts'
import { FakeJob } from '../../rest/fake-cluster.ts'

/** The parent of a job, in this process. */
class FakeParent {
  readonly reports: JobReport[] = []
  readonly job = new FakeJob()
  private deliver: (command: JobCommand) => void = () => {}
  private disconnect = (): void => {}
  private statusChanged: JobStatusListener = () => {}
  private requests = 0
  private connected = true

  supervise(): SupervisedJob {
    const on = (event: string, listener: (command: JobCommand) => void): void => {
      if (event === 'message') this.deliver = listener
      else this.disconnect = () => listener(undefined as never)
    }
    const channel: ParentChannel = {
      connected: this.connected,
      send: (report, sent) => {
        this.reports.push(report)
        sent()
      },
      on,
    }
    return new SupervisedJob(channel, {
      control: this.job,
      onStatus: (listener) => {
        this.statusChanged = listener
      },
    })
  }

  call(call: JobCall): number {
    this.deliver({ kind: 'call', request: ++this.requests, call })
    return this.requests
  }

  changeStatus(): void {
    this.statusChanged({ from: 'RUNNING', to: 'FINISHED', attempt: 1, atMs: 0 })
  }

  leave(): void {
    this.connected = false
    this.disconnect()
  }
}

describe('a job with a JobManager', () => {
  it('reports its start and every change of its state', async () => {
    const parent = new FakeParent()
    const job = parent.supervise()
    parent.changeStatus()
    await job[Symbol.asyncDispose]()
    expect(parent.reports.map(({ kind }) => kind).sort()).toEqual(['changed', 'started'])
  })

  it('answers each request with its number, failures too', async () => {
    const parent = new FakeParent()
    await using _job = parent.supervise()
    parent.job.savepointResult = () => Promise.reject(new WeirError('CHECKPOINT_DECLINED', 'no'))
    const checkpoint = parent.call({ method: 'checkpoint' })
    const stop = parent.call({ method: 'stop', request: { folder: 'f', drain: true } })
    await setImmediate()
    expect(parent.reports).toContainEqual({ kind: 'reply', request: checkpoint, value: 8 })
    expect(parent.reports).toContainEqual({
      kind: 'failure',
      request: stop,
      error: { code: 'CHECKPOINT_DECLINED', message: 'no', details: {} },
    })
    expect(parent.job.calls).toEqual(['checkpoint', 'stop f true'])
  })

  it('learns that the JobManager is gone', async () => {
    const parent = new FakeParent()
    const job = parent.supervise()
    parent.leave()
    await job.lost
  })

  it('learns that the JobManager ended before the job had started', async () => {
    const parent = new FakeParent()
    parent.leave()
    await parent.supervise().lost
  })
})
