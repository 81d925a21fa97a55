/** Worker thread of `trainLinear`: receives the share once, then one phase after the other. */
import { parentPort, workerData } from 'node:worker_threads'
import type { LinearShare } from './linear-share.ts'
import { LinearSolver } from './linear-solver.ts'
import { serveTraining } from './serve-training.ts'

serveTraining(parentPort, new LinearSolver(workerData as LinearShare))
