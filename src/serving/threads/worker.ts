/** Entry of a query worker thread; `workerData` is the port to the main thread. */
import nodeModule from 'node:module'
import { type MessagePort, workerData } from 'node:worker_threads'
import { tracingEnvironment } from '../../core/tracing/environment.ts'
import { startTracing } from '../../core/tracing/tracer.ts'
import { QueryThread } from './query-thread.ts'

startTracing(tracingEnvironment())
new QueryThread(workerData as MessagePort)
nodeModule.flushCompileCache()
