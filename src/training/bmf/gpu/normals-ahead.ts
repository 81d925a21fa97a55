import { siblingModule } from '../../../core/sibling-module.ts'
import {
  callingThread,
  type TrainingThreads,
  workerThreads,
} from '../../threads/training-threads.ts'
import { type NormalsShare, type NormalsTask, NormalsWriter } from './normals.ts'

/** A draw whose numbers are being computed, or are there. */
interface Pending extends NormalsTask {
  readonly done: Promise<void>
}

/**
 * Normal numbers of the draws of a chain. They depend on seed, sweep and row only, so threads compute those of the next
 * half sweep while the device draws: a device draws faster than one thread computes them.
 */
export class NormalsAhead implements AsyncDisposable {
  private readonly share: NormalsShare
  private readonly threads: TrainingThreads<NormalsTask>
  private readonly looksAhead: boolean
  private pending: Pending | undefined

  /** `threads`: worker threads; 0 computes in the calling thread. */
  constructor(share: NormalsShare, threads: number) {
    this.share = share
    this.looksAhead = threads > 0
    this.threads =
      threads === 0
        ? callingThread(new NormalsWriter(share))
        : workerThreads(siblingModule('./normals-worker', import.meta.url), threads, () => share)
  }

  /**
   * The numbers of all rows of a side in a sweep, `[rows x unknowns]`, valid until the numbers of the other side are
   * taken. Rejects if a thread ends.
   */
  async take(task: NormalsTask): Promise<Float32Array> {
    const { pending } = this
    const isPending = pending?.side === task.side && pending.sweep === task.sweep
    if (!isPending) await pending?.done
    await (isPending ? pending : this.start(task)).done
    this.pending = this.looksAhead ? this.start(following(task)) : undefined
    return this.share[task.side].values
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.threads[Symbol.asyncDispose]()
  }

  private start(task: NormalsTask): Pending {
    Atomics.store(this.share.nextChunk, 0, 0)
    const done = this.threads.run(task)
    // Whoever takes the numbers gets the error; a chain that ends before does not need it.
    done.catch(() => undefined)
    return { ...task, done }
  }
}

/** The draw after this one. */
function following({ side, sweep }: NormalsTask): NormalsTask {
  return side === 'users' ? { side: 'items', sweep } : { side: 'users', sweep: sweep + 1 }
}
