/** Worker thread of `trainLinear`: gets the share at its start, then one phase at a time. */
import { parentPort, workerData } from 'node:worker_threads'
import { serveTraining } from '../threads/serve-training.ts'
import type { LinearShare } from './share.ts'
import { LinearSolver } from './solver.ts'

serveTraining(parentPort, new LinearSolver(workerData as LinearShare))
