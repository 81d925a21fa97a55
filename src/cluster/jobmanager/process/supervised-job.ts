import type { JobStatusListener } from '../../../runtime/job/status.ts'
import type { JobControl } from '../../rest/port/job-control.ts'
import { errorMessage } from './error-message.ts'
import type { JobCall, JobCommand, JobReport } from './messages.ts'

/** The child's end of the IPC channel; `process` has this shape in a forked process. */
export interface ParentChannel {
  /** Whether the parent lives. */
  readonly connected: boolean
  send?(report: JobReport, sent: () => void): unknown
  on(event: 'message', listener: (command: JobCommand) => void): unknown
  on(event: 'disconnect', listener: () => void): unknown
}

/** The job of this process as the process reports it to its JobManager. */
export interface SupervisedJobSource {
  readonly control: JobControl
  onStatus(listener: JobStatusListener): void
}

/**
 * Answers the JobManager's requests about the job of this process, and reports every change of its state.
 */
export class SupervisedJob implements AsyncDisposable {
  /** Resolves when the JobManager is gone. */
  readonly lost: Promise<void>
  private readonly channel: ParentChannel
  private readonly control: JobControl
  /** Reports that are on their way. */
  private readonly unsent = new Set<Promise<void>>()

  constructor(channel: ParentChannel, { control, onStatus }: SupervisedJobSource) {
    this.channel = channel
    this.control = control
    this.lost = new Promise((resolve) => {
      channel.on('disconnect', resolve)
      // The JobManager may have ended while this process loaded its code.
      if (!channel.connected) resolve()
    })
    channel.on('message', (command) => this.track(this.answer(command)))
    onStatus(() => this.track(this.report('changed')))
    this.track(this.report('started'))
  }

  /** Resolves when every report has left: the last one says how the job ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.race([this.lost, this.allSent()])
  }

  private async allSent(): Promise<void> {
    while (this.unsent.size > 0) await Promise.all(this.unsent)
  }

  private async report(kind: 'started' | 'changed'): Promise<void> {
    await this.send({ kind, snapshot: await this.control.snapshot() })
  }

  private async answer({ request, call }: JobCommand): Promise<void> {
    try {
      await this.send({ kind: 'reply', request, value: await callOn(this.control, call) })
    } catch (error) {
      await this.send({ kind: 'failure', request, error: errorMessage(error) })
    }
  }

  private track(work: Promise<void>): void {
    const settled = work.catch(() => {}).finally(() => this.unsent.delete(settled))
    this.unsent.add(settled)
  }

  private send(report: JobReport): Promise<void> {
    return new Promise((resolve) => {
      // Without a JobManager no one is there to tell; `lost` ends the process.
      if (this.channel.send === undefined) resolve()
      else this.channel.send(report, resolve)
    })
  }
}

function callOn(control: JobControl, call: JobCall): Promise<unknown> {
  switch (call.method) {
    case 'snapshot':
      return control.snapshot()
    case 'cancel':
      return control.cancel()
    case 'checkpoint':
      return control.checkpoint()
    case 'savepoint':
      return control.savepoint(call.folder)
    case 'stop':
      return control.stop(call.request)
    case 'data':
      return control.data[call.of](call.request as never)
    case 'keyGroupRecords':
      return control.keyGroupRecords(call.uid)
    case 'profile':
      return control.profile(call.slot, call.durationMs)
  }
}
