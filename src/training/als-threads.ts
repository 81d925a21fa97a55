import { sumGramParts } from './als-gram.ts'
import type { AlsShare } from './als-share.ts'
import { type AlsSideName, AlsSolver, type AlsTask } from './als-solver.ts'
import type { AlsWorkerData } from './als-worker.ts'
import { callingThread, type TrainingThreads, workerThreads } from './training-threads.ts'

/** Threads for a share; 0 threads solve in the calling one, for tests and tiny data. */
export function alsThreads(share: AlsShare, threads: number): TrainingThreads<AlsTask> {
  if (threads === 0) return callingThread(new AlsSolver(share, 0))
  const dataOf = (worker: number): AlsWorkerData => ({ share, worker })
  return workerThreads('als-worker', threads, dataOf)
}

/** Solves every row of a side; with implicit feedback the other side's Gram matrix comes first. */
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
