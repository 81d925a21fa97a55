import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { parentPort, workerData } from 'node:worker_threads'
import { collectWhenIdle } from '../../../../src/core/lifetime/idle-collection.ts'

/*
 * A thread that keeps some MiB, has more for a moment, and does nothing then. V8 collects its heap before that moment, or
 * in it. It answers each message with the bytes that its heap holds.
 */

/** What the thread has. */
export interface Burst {
  readonly keptMib: number
  readonly burstMib: number
  /** Whether V8 collects while the burst lives. */
  readonly isSeen: boolean
}

const { keptMib, burstMib, isSeen } = workerData as Burst
const OBJECTS_OF_MIB = 8_192

/** Objects of about so many MiB. */
const made = (mib: number): object[] =>
  Array.from({ length: mib * OBJECTS_OF_MIB }, (_, i) => ({ i, of: [i, i + 1] }))

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
const stop = collectWhenIdle(100)
const kept = made(keptMib)
collect()
let burst = made(burstMib)
if (isSeen) collect()
burst = burst.slice(0, 0)

parentPort!.on('message', () => {
  parentPort!.postMessage(process.getBuiltinModule('node:v8').getHeapStatistics().total_heap_size)
})
parentPort!.once('close', () => {
  stop()
  kept.length = burst.length
})
