import type { AlsShare } from './share.ts'
import type { AlsSideName } from './solver.ts'
import { alsThreads, solveSide } from './threads.ts'

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
