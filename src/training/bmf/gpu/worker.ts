/** Worker thread of `trainBmf` on a GPU. */
import { parentPort } from 'node:worker_threads'
import { serveGpu } from '../../gpu/serve-gpu.ts'
import type { BmfTask } from '../drawing/drawer.ts'
import type { BmfShare } from '../drawing/share.ts'
import { GpuDrawer } from './drawer.ts'

/** What the thread does: it loads a chain, then runs its phases. */
export type GpuBmfWork =
  /** With as many threads for normal numbers. */
  { readonly kind: 'load'; readonly share: BmfShare; readonly threads: number } | BmfTask

let drawer: GpuDrawer | undefined

serveGpu<GpuBmfWork>(parentPort, {
  async run(runtime, work) {
    if (work.kind === 'load') {
      drawer = await GpuDrawer.create(runtime, work.share, { threads: work.threads })
    } else await drawer?.run(work)
  },
  async [Symbol.asyncDispose]() {
    await drawer?.[Symbol.asyncDispose]()
  },
})
