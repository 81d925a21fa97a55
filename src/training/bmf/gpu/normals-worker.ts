/** Worker thread that computes normal numbers for a GPU: gets the share at its start, then one draw at a time. */
import { parentPort, workerData } from 'node:worker_threads'
import { serveTraining } from '../../threads/serve-training.ts'
import { type NormalsShare, NormalsWriter } from './normals.ts'

serveTraining(parentPort, new NormalsWriter(workerData as NormalsShare))
