/** Entry of a query worker thread; `workerData` is the port to the main thread. */
import { flushCompileCache } from 'node:module'
import { type MessagePort, workerData } from 'node:worker_threads'
import { QueryThread } from './query-thread.ts'

new QueryThread(workerData as MessagePort)
flushCompileCache()
