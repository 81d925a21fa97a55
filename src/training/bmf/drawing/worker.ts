/** Worker thread of `trainBmf`: gets the share at its start, then one task at a time. */
import { parentPort, workerData } from 'node:worker_threads'
import { serveTraining } from '../../threads/serve-training.ts'
import { BmfDrawer } from './drawer.ts'
import type { BmfShare } from './share.ts'

/** Data of a worker's start. */
export interface BmfWorkerData {
  readonly share: BmfShare
  readonly worker: number
}

const { share, worker } = workerData as BmfWorkerData

serveTraining(parentPort, new BmfDrawer(share, worker))
