/** Worker thread of `trainAls`: receives the share once, then one task after the other. */
import { parentPort, workerData } from 'node:worker_threads'
import type { AlsShare } from './als-share.ts'
import { AlsSolver } from './als-solver.ts'
import { serveTraining } from './serve-training.ts'

/** What the worker is started with. */
export interface AlsWorkerData {
  readonly share: AlsShare
  readonly worker: number
}

const { share, worker } = workerData as AlsWorkerData

serveTraining(parentPort, new AlsSolver(share, worker))
