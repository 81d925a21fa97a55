import type { EventEmitter } from 'node:events'
import { Worker } from 'node:worker_threads'
import { siblingModule, THREAD_LIMITS } from '../../../core/sibling-module.ts'
import type { SharedThreadData } from './messages.ts'

/** The parts of a worker that a shared thread uses. */
export interface SharedWorker
  extends Pick<Worker, 'postMessage' | 'terminate' | 'startCpuProfile' | 'getHeapStatistics'>,
    Pick<EventEmitter, 'on'> {}

/** Starts a worker with this name. */
export type StartSharedWorker = (name: string, data: SharedThreadData) => SharedWorker

const THREAD_URL = siblingModule('./thread', import.meta.url)

/** Starts the worker of a shared slot thread; it waits for its first slot. */
export function startSharedWorker(name: string, workerData: SharedThreadData): SharedWorker {
  return new Worker(THREAD_URL, { workerData, name, resourceLimits: THREAD_LIMITS })
}
