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

/** Threads for a share; with 0 threads, the calling thread solves (tests and small data). */
export function alsThreads(share: AlsShare, threads: number): TrainingThreads<AlsTask> {
  if (threads === 0) return callingThread(new AlsSolver(share, 0))
  const dataOf = (worker: number): AlsWorkerData => ({ share, worker })
  return workerThreads(siblingModule('./worker', import.meta.url), threads, dataOf)
}

/** Solves every row of a side; with implicit feedback, computes the Gram matrix of the other side first. */
export async function solveSide(
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
