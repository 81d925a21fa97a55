/**
 * Worker thread of `trainAls`: receives the share once, then the name of a side for every half
 * iteration, and answers when no chunk is left.
 */
import { parentPort, workerData } from 'node:worker_threads'
import type { AlsShare } from './als-share.ts'
import { type AlsSideName, AlsSolver } from './als-solver.ts'

/** What the worker is started with. */
export interface AlsWorkerData {
  readonly share: AlsShare
  readonly worker: number
}

const { share, worker } = workerData as AlsWorkerData
const solver = new AlsSolver(share, worker)

parentPort?.on('message', (side: AlsSideName) => {
  solver.runHalf(side)
  parentPort?.postMessage('done')
})
