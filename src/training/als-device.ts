import type { AlsShare } from './als-share.ts'
import type { AlsSideName } from './als-solver.ts'
import { alsThreads, solveSide } from './als-threads.ts'

/** What solves the halves of a training run: threads of this machine, or a GPU. */
export interface AlsDevice extends AsyncDisposable {
  /**
   * Solves every row of a side and writes their parts of the objective to the share; the rows as well
   * where they are wanted there (threads always do).
   */
  solve(side: AlsSideName, isWanted: boolean): Promise<void>
}

/** The CPU: `threads` workers, or this thread for 0. */
export function cpuDevice(share: AlsShare, count: number): AlsDevice {
  const threads = alsThreads(share, count)
  return {
    solve: (side) => solveSide(threads, share, side),
    [Symbol.asyncDispose]: () => threads[Symbol.asyncDispose](),
  }
}
