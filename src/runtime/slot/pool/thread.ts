import nodeModule from 'node:module'
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../../core/clock.ts'
import { WeirError } from '../../../core/errors.ts'
import { tracingEnvironment } from '../../../core/tracing/environment.ts'
import { startTracing } from '../../../core/tracing/tracer.ts'
import { buildFromModule } from '../../../dataflow/job/module.ts'
import { loadStorage } from '../../checkpoint/storage/load.ts'
import { SharedAgents } from './agents.ts'
import type { SharedThreadCommand, SharedThreadData } from './messages.ts'

/*
 * Entry of a slot thread that several executions share. It imports each module once: what a module keeps outside of its
 * operators, all executions of the thread have in common.
 */

const { url, stateMemoryBytes } = workerData as SharedThreadData
const port = parentPort
if (port === null) throw new WeirError('ILLEGAL_STATE', 'start this module as a worker thread')

startTracing(tracingEnvironment())

// Loads while the main thread looks for checkpoints; a failure shows when a graph is built.
import(url).catch(() => {})

let hasRestored = false

const agents = new SharedAgents({
  clock: systemClock,
  openStorage: loadStorage,
  buildGraph: (job) => buildFromModule(import(job.url), job),
  stateMemoryBytes,
  post: (message) => {
    port.postMessage(message)
    if (hasRestored || message.kind !== 'report' || message.report.kind !== 'restored') return
    hasRestored = true
    nodeModule.flushCompileCache()
  },
  warn: (sentence) => process.emitWarning(sentence, { code: 'WEIR_OPERATOR_FAILED' }),
})

function failStray(error: unknown): void {
  if (!agents.failStray(error)) throw error
}
process.on('uncaughtException', failStray)
process.on('unhandledRejection', failStray)

port.on('message', (message: SharedThreadCommand) => agents.handle(message))
