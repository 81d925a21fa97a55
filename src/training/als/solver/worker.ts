/** Worker thread of `trainAls`: gets the share at its start, then one task at a time. */
import { parentPort, workerData } from 'node:worker_threads'
import { serveTraining } from '../../threads/serve-training.ts'
import type { AlsShare } from './share.ts'
import { AlsSolver } from './solver.ts'

/** Data of a worker's start. */
export interface AlsWorkerData {
  readonly share: AlsShare
  readonly worker: number
}

const { share, worker } = workerData as AlsWorkerData

serveTraining(parentPort, new AlsSolver(share, worker))
