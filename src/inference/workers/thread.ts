import { parentPort, workerData } from 'node:worker_threads'
import type { ServeMessage, WorkerStart } from './messages.ts'
import { runWorker } from './run-worker.ts'

/* The thread of one worker. It ends with its queue, or when the model cannot be loaded. */

const started = new Promise<ServeMessage | undefined>((resolve) => {
  parentPort?.once('message', resolve)
})

void runWorker(workerData as WorkerStart, {
  post: (message) => parentPort?.postMessage(message),
  started,
}).finally(() => parentPort?.close())
