import { parentPort, workerData } from 'node:worker_threads'
import { instantiateKernels } from '../../src/core/kernels/instantiate.ts'

/** Input of a reading thread. */
export interface MemoryReadingPlan {
  /** One int32: the number of threads that are ready. */
  readonly gate: SharedArrayBuffer
  readonly threads: number
}

/** Result of a reading thread. */
export interface MemoryReadingResult {
  readonly bytesPerSecond: number
}

/** Much larger than the caches of a processor. */
const BYTES = 256 * 1024 * 1024
const PAGE_BYTES = 65_536
/** Floats of a row of the matrix that is read. The vector of the same length stays in the first cache. */
const ROW = 1024
const SECONDS = 1

/** Reads its own memory again and again, as a product of matrix and vector. */
function bytesPerSecond({ gate, threads }: MemoryReadingPlan): number {
  const pages = BYTES / PAGE_BYTES + 1
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true })
  // The system maps pages that were never written to one page of zeros.
  new Float32Array(memory.buffer).fill(1)
  const kernels = instantiateKernels(memory)
  const [matrix, vector, out] = [PAGE_BYTES, 0, ROW * 4]
  const rowsAtOnce = 1024
  waitForAll(new Int32Array(gate), threads)
  const started = performance.now()
  let read = 0
  for (let at = 0; performance.now() - started < SECONDS * 1000; at += rowsAtOnce * ROW * 4) {
    kernels.gemv(matrix + (at % BYTES), ROW * 4, rowsAtOnce, vector, out, ROW)
    read += rowsAtOnce * ROW * 4
  }
  return read / ((performance.now() - started) / 1000)
}

function waitForAll(gate: Int32Array, threads: number): void {
  Atomics.add(gate, 0, 1)
  Atomics.notify(gate, 0)
  for (let ready = 0; ready < threads; ready = Atomics.load(gate, 0)) {
    Atomics.wait(gate, 0, ready, 1000)
  }
}

const result: MemoryReadingResult = { bytesPerSecond: bytesPerSecond(workerData) }
parentPort!.postMessage(result)
