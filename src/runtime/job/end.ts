import { messageOf, WeirError } from '../../core/errors.ts'
import { flag, name } from '../../core/options/kinds.ts'
import { checkOptions, type OptionShape } from '../../core/options/shape.ts'
import type { CheckpointCoordinator } from '../checkpoint/coordinator/coordinator.ts'
import type { CheckpointManifest } from '../checkpoint/protocol/checkpoint-types.ts'
import type { CheckpointStorage } from '../checkpoint/storage/checkpoint-storage.ts'
import type { AttemptExecution } from './attempt-execution.ts'

/** Options of a stop with a savepoint. */
export interface StopOptions {
  /** Folder of checkpoint storage below which the savepoint goes. @default 'savepoints' */
  readonly folder?: string
  /** Let every window and timer fire first, as at the end of all input. @default false */
  readonly drain?: boolean
}

const STOP: OptionShape<StopOptions> = { folder: name, drain: flag }

/** A completed checkpoint and the storage of its files. */
export interface StoredCheckpoint {
  readonly manifest: CheckpointManifest
  readonly storage: CheckpointStorage
}

/** Work at the regular end of a job; it must not throw. */
export type FinishListener = (last: StoredCheckpoint) => Promise<void>

/** The job as its regular end sees it. */
export interface JobEndHost {
  checkpoints(): CheckpointCoordinator | undefined
  /** Undefined for a job without checkpoints. */
  readonly storage: CheckpointStorage | undefined
  /** Whether the attempt runs and nothing has begun to end the job. */
  isRunning(attempt: AttemptExecution): boolean
  /** Closes everything; the job is FINISHED when this resolves. Throws JOB_FAILED when an operator's `close` throws. */
  finished(): Promise<void>
  /** Closes everything; the job is SUSPENDED when this resolves. */
  suspended(): Promise<void>
}

/** A request for a savepoint that is taken when all input has ended. */
interface LastSavepoint {
  readonly folder: string | undefined
  /** Whether the sources end because of it; the next attempt must then drain too. */
  readonly drain: boolean
  readonly taken: PromiseWithResolvers<string>
}

/** Tries of the last checkpoint at the end of all input, after which the job fails. */
const FINAL_CHECKPOINTS = 3
/** Checkpoint id with which a job without checkpoints commits at its end. */
const DIRECT_COMMIT = 1

/**
 * The regular end of a job: every input has ended, or a caller stops it with a savepoint. Both may
 * happen at the same time. Then the first one ends the job, and the caller still gets its savepoint.
 */
export class JobEnd {
  private readonly host: JobEndHost
  private readonly listeners: FinishListener[] = []
  /** The stop that is under way: its savepoint, or the id of its checkpoint. */
  private stop: Promise<string | number> | undefined
  private sourcesStop = false
  private lastSavepoint: LastSavepoint | undefined
  /** Attempt whose inputs have ended and whose last checkpoint is being taken. */
  private finishing: AttemptExecution | undefined

  constructor(host: JobEndHost) {
    this.host = host
  }

  /**
   * Calls `listener` with the last checkpoint or savepoint of a job that ends regularly, before it is FINISHED and a stop is
   * answered.
   */
  onFinishing(listener: FinishListener): void {
    this.listeners.push(listener)
  }

  /** Does the work of the listeners, while the last checkpoint can be read. */
  async callListeners(): Promise<void> {
    const { storage } = this.host
    const manifest = this.host.checkpoints()?.latest
    if (manifest === undefined || storage === undefined) return
    for (const listener of this.listeners) await listener({ manifest, storage })
  }

  /** Whether sources must stop delivering records after the next barrier. */
  get stopping(): boolean {
    return this.sourcesStop
  }

  /** Takes a savepoint, commits and ends the job; returns the savepoint's folder. */
  stopWithSavepoint(
    attempt: AttemptExecution,
    checkpoints: CheckpointCoordinator,
    options: StopOptions,
  ): Promise<string> {
    checkOptions('stopWithSavepoint', STOP, options)
    this.requireNoStop()
    const { folder, drain = false } = options
    if (drain || this.finishing === attempt) return this.atEndOfInput(attempt, folder, drain)
    return this.stopBy(() => this.stopNow(attempt, checkpoints, folder))
  }

  /** Takes a last checkpoint, commits and suspends the job; returns the checkpoint's id. */
  release(attempt: AttemptExecution, checkpoints: CheckpointCoordinator): Promise<number> {
    this.requireNoStop()
    if (this.finishing === attempt) {
      const message = 'all input of the job has ended, and it ends by itself; wait for its result'
      throw new WeirError('ILLEGAL_STATE', message)
    }
    return this.stopBy(async () => {
      const id = await this.takeAndCommit(attempt, checkpoints, async () => {
        const { checkpointId } = await checkpoints.triggerLast()
        return checkpointId
      })
      await this.host.suspended()
      return id
    })
  }

  /** An attempt runs: if the one before was to drain, it drains too. */
  running(attempt: AttemptExecution): void {
    if (this.lastSavepoint?.drain === true) drain(attempt)
  }

  /** An attempt failed before its regular end. */
  failed(error: WeirError): void {
    if (this.lastSavepoint?.drain === false) this.reject(error)
  }

  /** The job is over: a savepoint that was requested cannot be taken. */
  reject(error: WeirError): void {
    this.lastSavepoint?.taken.reject(error)
    this.lastSavepoint = undefined
  }

  /** Every input has ended: takes a last checkpoint or savepoint and ends the job. Throws its failure. */
  async finish(attempt: AttemptExecution): Promise<void> {
    if (await this.isStopped()) return
    if (!this.host.isRunning(attempt)) return
    this.finishing = attempt
    let folder: string | undefined
    try {
      folder = await this.commitAll(attempt)
    } finally {
      this.finishing = undefined
    }
    if (!this.host.isRunning(attempt)) return
    if (folder === undefined) await this.host.finished()
    else await this.finishWith(folder)
  }

  /** Ends the job whose last savepoint a caller waits for. */
  private async finishWith(folder: string): Promise<void> {
    const { lastSavepoint } = this
    // It is taken: what happens from here on does not reject it without its folder.
    this.lastSavepoint = undefined
    try {
      await this.host.finished()
      lastSavepoint?.taken.resolve(folder)
    } catch (error) {
      lastSavepoint?.taken.reject(failedAfter(folder, error))
      throw error
    }
  }

  /**
   * Waits for a stop that runs; whether it has ended the job, with its savepoint as the last
   * checkpoint.
   */
  private async isStopped(): Promise<boolean> {
    try {
      return (await this.stop) !== undefined
    } catch {
      // The caller of the stop gets the failure; the job ends by itself instead.
      return false
    }
  }

  private requireNoStop(): void {
    if (this.stop === undefined && this.lastSavepoint === undefined) return
    throw new WeirError('ILLEGAL_STATE', 'the job is being stopped already; wait for its end')
  }

  /** Stops the sources behind the next barrier while `work` runs, which ends the job or throws. */
  private stopBy<T extends string | number>(work: () => Promise<T>): Promise<T> {
    this.sourcesStop = true
    const stop = work().finally(() => {
      this.stop = undefined
      this.sourcesStop = false
    })
    this.stop = stop
    return stop
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
    const folder = await this.takeAndCommit(attempt, checkpoints, () =>
      checkpoints.triggerSavepoint(parent, true),
    )
    try {
      await this.host.finished()
    } catch (error) {
      throw failedAfter(folder, error)
    }
    return folder
  }

  /** `take` takes a last savepoint or checkpoint, which its result names. */
  private async takeAndCommit<T extends string | number>(
    attempt: AttemptExecution,
    checkpoints: CheckpointCoordinator,
    take: () => Promise<T>,
  ): Promise<T> {
    try {
      const taken = await take()
      await attempt.committed(checkpoints.latest!.checkpointId)
      if (!this.host.isRunning(attempt)) {
        const what = typeof taken === 'string' ? 'savepoint' : 'checkpoint'
        throw new WeirError(
          'ILLEGAL_STATE',
          `${what} ${taken} is complete, but the job did not stop with it`,
        )
      }
      return taken
    } catch (error) {
      checkpoints.resume()
      attempt.sendAll({ kind: 'resume', attempt: attempt.attempt })
      throw error
    }
  }

  /** Commits all input; returns the folder of the last savepoint if one was requested. */
  private async commitAll(attempt: AttemptExecution): Promise<string | undefined> {
    const checkpoints = this.host.checkpoints()
    if (checkpoints === undefined) {
      attempt.sendAll({ kind: 'commit', attempt: attempt.attempt, checkpointId: DIRECT_COMMIT })
      await attempt.committed(DIRECT_COMMIT)
      return undefined
    }
    const folder = await this.lastCheckpoint(checkpoints, attempt)
    // A savepoint may have been requested while the last checkpoint was being taken.
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
            : await checkpoints.triggerSavepoint(this.lastSavepoint.folder, true)
        await attempt.committed(checkpoints.latest!.checkpointId)
        return folder ?? undefined
      } catch (error) {
        checkpoints.resume()
        if (tries === FINAL_CHECKPOINTS || !this.host.isRunning(attempt)) throw error
      }
    }
  }
}

/** The error of a stop whose savepoint is complete, but whose job has failed. */
function failedAfter(folder: string, error: unknown): WeirError {
  const message = `savepoint ${folder} is complete, but ${messageOf(error)}`
  return new WeirError('JOB_FAILED', message, { cause: error })
}

function drain(attempt: AttemptExecution): void {
  attempt.sendAll({ kind: 'drain', attempt: attempt.attempt })
}
