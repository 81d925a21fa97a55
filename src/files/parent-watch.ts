import { workerData } from 'node:worker_threads'

/* The thread of `endWithParent`. */

const LOOK_MS = 1_000

setInterval(() => {
  if (process.ppid !== workerData) process.kill(process.pid, 'SIGKILL')
}, LOOK_MS)
