import nodeModule from 'node:module'
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { tracingEnvironment } from '../../core/tracing/environment.ts'
import { startTracing } from '../../core/tracing/tracer.ts'
import { buildFromModule, type JobModule } from '../../dataflow/job/module.ts'
import { loadStorage } from '../checkpoint/storage/load.ts'
import { SlotAgent } from './agent.ts'
import type { SlotThreadData } from './threads.ts'
import type { SlotThreadMessage } from './worker-slot.ts'

/*
 * Entry of a slot's worker thread: imports the job's module and executes the main thread's commands.
 * An error that no call handles, such as that of a promise which a function did not wait for, fails the attempt. Without
 * an attempt it ends the thread, which the main thread sees as the loss of the slot.
 */

const { url } = workerData as SlotThreadData
const port = parentPort
if (port === null) throw new WeirError('ILLEGAL_STATE', 'start this module as a worker thread')

startTracing(tracingEnvironment())

// Loads while the main thread looks for the checkpoint; a failure shows when the graph is built.
const loading: Promise<unknown> = import(url)
loading.catch(() => {})

let job: JobModule | undefined

const agent = new SlotAgent({
  clock: systemClock,
  openStorage: loadStorage,
  buildGraph: () => {
    if (job === undefined) {
      throw new WeirError('ILLEGAL_STATE', 'a slot thread gets its job before any command')
    }
    return buildFromModule(loading, job)
  },
  report: (report) => {
    port.postMessage(report)
    // A good moment: nothing is processed yet, and queries do not wait for this thread.
    if (report.kind === 'restored') nodeModule.flushCompileCache()
  },
})

function failStray(error: unknown): void {
  if (!agent.failStray(error)) throw error
}
process.on('uncaughtException', failStray)
process.on('unhandledRejection', failStray)

port.on('message', (message: SlotThreadMessage) => {
  if (message.kind === 'job') job = message.job
  else agent.handle(message)
})
