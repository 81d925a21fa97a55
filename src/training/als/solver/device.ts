import { siblingModule } from '../../../core/sibling-module.ts'
import {
  callingThread,
  type TrainingThreads,
  workerThreads,
} from '../../threads/training-threads.ts'
import { sumGramParts } from './gram.ts'
import type { AlsShare } from './share.ts'
import { type AlsSideName, AlsSolver, type AlsTask } from './solver.ts'
import type { AlsWorkerData } from './worker.ts'

/** Solver of the half iterations of a training run: threads of this machine, or a GPU. */
export interface AlsDevice extends AsyncDisposable {
  /**
   * Solves every row of a side and writes the rows' parts of the objective to the share. With
   * `needsRows` it writes the rows too; threads always do.
   */
  solve(side: AlsSideName, needsRows: boolean): Promise<void>
}

/** The CPU: `threads` workers, or this thread for 0. */
export function cpuDevice(share: AlsShare, count: number): AlsDevice {
  const threads = alsThreads(share, count)
  return {
    solve: (side) => solveSide(threads, share, side),
    [Symbol.asyncDispose]: () => threads[Symbol.asyncDispose](),
  }
}

/** Threads for a share; with 0 threads, the calling thread solves (tests and small data). */
function alsThreads(share: AlsShare, threads: number): TrainingThreads<AlsTask> {
  if (threads === 0) return callingThread(new AlsSolver(share, 0))
  const dataOf = (worker: number): AlsWorkerData => ({ share, worker })
  return workerThreads(siblingModule('./worker', import.meta.url), threads, dataOf)
}

/** Solves every row of a side; with implicit feedback, computes the Gram matrix of the other side first. */
async function solveSide(
  threads: TrainingThreads<AlsTask>,
  share: AlsShare,
  side: AlsSideName,
): Promise<void> {
  if (share.implicit !== undefined) {
    Atomics.store(share.nextChunk, 0, 0)
    await threads.run({ kind: 'gram', side: side === 'users' ? 'items' : 'users' })
    sumGramParts(share, share.implicit)
  }
  Atomics.store(share.nextChunk, 0, 0)
  await threads.run({ kind: 'solve', side })
}
