import { parentPort, workerData } from 'node:worker_threads'
import { instantiateKernels } from '../src/kernels/kernels.ts'

/** What a reading thread works on. */
export interface MemoryReadingPlan {
  /** One int32: threads that are ready. */
  readonly gate: SharedArrayBuffer
  readonly threads: number
}

/** What it answers. */
export interface MemoryReadingResult {
  readonly bytesPerSecond: number
}

/** Far larger than a processor's caches. */
const BYTES = 256 * 1024 * 1024
const PAGE_BYTES = 65_536
/** Floats of a row of the matrix that is read; the vector beside it stays in the nearest cache. */
const ROW = 1024
const SECONDS = 1

/** Reads memory of its own, all of it again and again, as matrix times vector. */
function bytesPerSecond({ gate, threads }: MemoryReadingPlan): number {
  const pages = BYTES / PAGE_BYTES + 1
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true })
  // Untouched pages would all be the same page of zeros.
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
