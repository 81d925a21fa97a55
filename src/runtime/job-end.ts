import type { CheckpointCoordinator } from '../checkpoint/checkpoint-coordinator.ts'
import { WeirError } from '../core/errors.ts'
import type { AttemptExecution } from './attempt-execution.ts'

/** How a job is stopped. */
export interface StopOptions {
  /** Folder of checkpoint storage below which the savepoint goes. @default 'savepoints' */
  readonly folder?: string
  /** Let every window and timer fire first, as at the end of all input. @default false */
  readonly drain?: boolean
}

/** What the regular end of a job needs from it. */
export interface JobEndHost {
  checkpoints(): CheckpointCoordinator | undefined
  /** Whether the attempt runs and nothing has begun to end the job. */
  isRunning(attempt: AttemptExecution): boolean
  /** Closes everything; the job is FINISHED when this resolves. */
  finished(): Promise<void>
}

/** A savepoint that is taken when all input has ended. */
interface LastSavepoint {
  readonly folder: string | undefined
  /** Whether the sources end because of it, so that it is wanted of the next attempt too. */
  readonly drain: boolean
  readonly taken: PromiseWithResolvers<string>
}

/** Last checkpoints that are tried at the end of all input before the job counts as failed. */
const FINAL_CHECKPOINTS = 3
/** Number under which a job without checkpoints commits at its end. */
const DIRECT_COMMIT = 1

/**
 * The regular end of a job: every input has ended, or someone stops it with a savepoint. Both may
 * come at once; then the one that came first ends the job and the other has its wish as well.
 */
export class JobEnd {
  private readonly host: JobEndHost
  private stop: Promise<string> | undefined
  private sourcesStop = false
  private lastSavepoint: LastSavepoint | undefined
  /** Attempt whose inputs have ended and whose last checkpoint is being taken. */
  private finishing: AttemptExecution | undefined

  constructor(host: JobEndHost) {
    this.host = host
  }

  /** Whether sources deliver nothing after the next barrier. */
  get stopping(): boolean {
    return this.sourcesStop
  }

  /** Takes a savepoint, commits and ends the job; the savepoint's folder. */
  stopWithSavepoint(
    attempt: AttemptExecution,
    checkpoints: CheckpointCoordinator,
    options: StopOptions,
  ): Promise<string> {
    if (this.stop !== undefined || this.lastSavepoint !== undefined) {
      throw new WeirError('ILLEGAL_STATE', 'the job is being stopped already; wait for its end')
    }
    const { folder, drain = false } = options
    if (drain || this.finishing === attempt) return this.atEndOfInput(attempt, folder, drain)
    this.sourcesStop = true
    this.stop = this.stopNow(attempt, checkpoints, folder).finally(() => {
      this.stop = undefined
      this.sourcesStop = false
    })
    return this.stop
  }

  /** An attempt runs: what was asked of the one before is asked of it. */
  running(attempt: AttemptExecution): void {
    if (this.lastSavepoint?.drain === true) drain(attempt)
  }

  /** An attempt is over before its regular end. */
  failed(error: WeirError): void {
    if (this.lastSavepoint?.drain === false) this.reject(error)
  }

  /** The job is over; nothing that was asked for can come any more. */
  reject(error: WeirError): void {
    this.lastSavepoint?.taken.reject(error)
    this.lastSavepoint = undefined
  }

  /** Every input has ended: a last checkpoint or savepoint, then everything closes. Throws what it failed with. */
  async finish(attempt: AttemptExecution): Promise<void> {
    if (await this.stoppedAnyway()) return
    if (!this.host.isRunning(attempt)) return
    this.finishing = attempt
    let folder: string | undefined
    try {
      folder = await this.commitAll(attempt)
    } finally {
      this.finishing = undefined
    }
    if (!this.host.isRunning(attempt)) return
    await this.host.finished()
    if (folder !== undefined) this.lastSavepoint?.taken.resolve(folder)
  }

  /** Whether a stop under way has ended the job; its savepoint stands for the last checkpoint. */
  private async stoppedAnyway(): Promise<boolean> {
    try {
      return (await this.stop) !== undefined
    } catch {
      // Whoever asked for the stop is told why; the job ends by itself instead.
      return false
    }
  }

  private atEndOfInput(
    attempt: AttemptExecution,
    folder: string | undefined,
    draining: boolean,
  ): Promise<string> {
    const taken = Promise.withResolvers<string>()
    this.lastSavepoint = { folder, drain: draining, taken }
    if (draining) drain(attempt)
    return taken.promise
  }

  private async stopNow(
    attempt: AttemptExecution,
    checkpoints: CheckpointCoordinator,
    parent: string | undefined,
  ): Promise<string> {
    try {
      const folder = await checkpoints.triggerSavepoint(parent)
      await attempt.committed(checkpoints.latest!.checkpointId)
      if (!this.host.isRunning(attempt)) {
        throw new WeirError(
          'ILLEGAL_STATE',
          `savepoint ${folder} is complete, but the job did not stop with it`,
        )
      }
      await this.host.finished()
      return folder
    } catch (error) {
      attempt.sendAll({ kind: 'resume', attempt: attempt.attempt })
      throw error
    }
  }

  /** The folder of the last savepoint, if one was asked for. */
  private async commitAll(attempt: AttemptExecution): Promise<string | undefined> {
    const checkpoints = this.host.checkpoints()
    if (checkpoints === undefined) {
      attempt.sendAll({ kind: 'commit', attempt: attempt.attempt, checkpointId: DIRECT_COMMIT })
      await attempt.committed(DIRECT_COMMIT)
      return undefined
    }
    const folder = await this.lastCheckpoint(checkpoints, attempt)
    // A savepoint may have been asked for while the last checkpoint was being taken.
    if (folder !== undefined || this.lastSavepoint === undefined) return folder
    return await this.lastCheckpoint(checkpoints, attempt)
  }

  private async lastCheckpoint(
    checkpoints: CheckpointCoordinator,
    attempt: AttemptExecution,
  ): Promise<string | undefined> {
    for (let tries = 1; ; tries++) {
      try {
        const folder =
          this.lastSavepoint === undefined
            ? void (await checkpoints.triggerCheckpoint())
            : await checkpoints.triggerSavepoint(this.lastSavepoint.folder)
        await attempt.committed(checkpoints.latest!.checkpointId)
        return folder ?? undefined
      } catch (error) {
        if (tries === FINAL_CHECKPOINTS || !this.host.isRunning(attempt)) throw error
      }
    }
  }
}

function drain(attempt: AttemptExecution): void {
  attempt.sendAll({ kind: 'drain', attempt: attempt.attempt })
}
