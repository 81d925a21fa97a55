/** Worker thread of `trainAls` on a GPU. */
import { parentPort } from 'node:worker_threads'
import { serveGpu } from '../../gpu/serve-gpu.ts'
import type { AlsShare } from '../solver/share.ts'
import type { AlsSideName } from '../solver/solver.ts'
import { GpuAlsSolver } from './solver.ts'

/** What the thread does: it loads a problem, then solves its sides. */
export type GpuAlsWork =
  | { readonly kind: 'load'; readonly share: AlsShare }
  | { readonly kind: 'solve'; readonly side: AlsSideName; readonly needsRows: boolean }

let solver: GpuAlsSolver | undefined

async function release(): Promise<void> {
  await solver?.[Symbol.asyncDispose]()
  solver = undefined
}

serveGpu<GpuAlsWork>(parentPort, {
  async run(runtime, work) {
    if (work.kind === 'load') {
      await release()
      solver = await GpuAlsSolver.create(runtime, work.share)
    } else await solver?.solve(work.side, work.needsRows)
  },
  [Symbol.asyncDispose]: release,
})
