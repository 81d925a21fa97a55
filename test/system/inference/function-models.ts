import { appendFileSync, statSync } from 'node:fs'
import { sleep, systemClock } from '../../../src/core/clock.ts'
import type { FunctionModel } from '../../../src/inference/port/runner.ts'
import type { ModelSignature } from '../../../src/inference/port/signature.ts'
import type { Tensor } from '../../../src/inference/port/tensor.ts'
import { until } from '../../run/until.ts'

/* Models that workers import: the values of the requests say what a run does. */

const signature: ModelSignature = {
  batches: true,
  inputs: [{ name: 'x', datatype: 'FP32', shape: [-1] }],
  outputs: [{ name: 'y', datatype: 'FP32', shape: [-1] }],
}

/** A run with this value ends the thread, or the process. */
export const ENDS_WORKER = -1
/** A run with this value never returns. */
export const HANGS = -2
/** A run with this value takes memory until its heap is full. */
export const FILLS_HEAP = -4
/** A run with this value takes memory beside its heap, keeps it and never returns. */
export const TAKES_MEMORY = -5
/** A run with this value throws. */
export const THROWS = -3

const valuesOf = (tensor: Tensor): Float32Array => {
  const { data } = tensor
  return new Float32Array(data.buffer, data.byteOffset, data.length / 4)
}

const doubled = (inputs: readonly Tensor[]): Tensor[] => {
  const values = valuesOf(inputs[0]!).map((value) => value * 2)
  const data = new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
  return [{ name: 'y', datatype: 'FP32', shape: [values.length], data }]
}

const kept: Buffer[] = []
/** Far above each limit of the tests: a machine that ends the process too late must not run out of memory. */
const MOST_TAKEN_MIB = 2048

/** Doubles its input, and does what the values above say. */
export const doubling: FunctionModel = {
  signature,
  run(inputs) {
    const values = valuesOf(inputs[0]!)
    if (values.includes(ENDS_WORKER)) process.exit(7)
    while (values.includes(HANGS)) Math.random()
    for (const heap: number[][] = []; values.includes(FILLS_HEAP); )
      heap.push(new Array(1e6).fill(1))
    while (values.includes(TAKES_MEMORY))
      if (kept.length < MOST_TAKEN_MIB) kept.push(Buffer.alloc(2 ** 20, 1))
    if (values.includes(THROWS)) throw new Error('the value -3 is not allowed')
    return doubled(inputs)
  },
}

/** Loads of a model in all its processes so far, counted by the bytes of the file of its options. */
function countLoad(options: unknown): number {
  const file = options as string
  appendFileSync(file, '.')
  return statSync(file).size
}

/** Doubles its input. Its process is killed in the loads 2 to 4. */
export const killedInLoads: FunctionModel = {
  ...doubling,
  load(options) {
    const loads = countLoad(options)
    if (loads >= 2 && loads <= 4) process.kill(process.pid, 'SIGKILL')
  },
}

/** Doubles its input. Its process ends by itself in each load but the first. */
export const crashingInLoads: FunctionModel = {
  ...doubling,
  load(options) {
    if (countLoad(options) >= 2) process.exit(3)
  },
}

/** Waits as long as an external service would, without using the processor. */
export const waiting: FunctionModel = {
  signature,
  async run(inputs) {
    await sleep(systemClock, 5)
    return doubled(inputs)
  },
}

/** Returns fewer items than it was asked for. */
export const short: FunctionModel = {
  signature,
  run: (inputs) => [
    { name: 'y', datatype: 'FP32', shape: [0], data: new Uint8Array(0 * inputs.length) },
  ],
}

let stalls = new Int32Array(new SharedArrayBuffer(4))

/** Stalls for 10 s in the first run of all workers that share the counter of the options. */
export const stalling: FunctionModel = {
  signature,
  load(options) {
    stalls = new Int32Array(options as SharedArrayBuffer)
  },
  async run(inputs) {
    if (Atomics.add(stalls, 0, 1) === 0) await sleep(systemClock, 10_000)
    return doubled(inputs)
  },
}

/** Its load ends when the word of the options is 1. */
export const loadingLate: FunctionModel = {
  signature,
  async load(options) {
    const word = new Int32Array(options as SharedArrayBuffer)
    await until('the test lets the load end', () => Atomics.load(word, 0) !== 0)
  },
  run: doubled,
}

let gate = new Int32Array(new SharedArrayBuffer(8))

/**
 * Blocks its thread in each run until the first word of the options is 1; the second word counts the items of all runs
 * that have begun.
 */
export const gated: FunctionModel = {
  signature,
  load(options) {
    gate = new Int32Array(options as SharedArrayBuffer)
  },
  run(inputs, items) {
    Atomics.add(gate, 1, items)
    Atomics.wait(gate, 0, 0)
    return doubled(inputs)
  },
}

/** Its load ends when as many loads have begun as the second word of the options says; the first one counts them. */
export const loadingTogether: FunctionModel = {
  signature,
  async load(options) {
    const words = new Int32Array(options as SharedArrayBuffer)
    Atomics.add(words, 0, 1)
    await until('all loads have begun', () => Atomics.load(words, 0) >= words[1]!)
  },
  run: doubled,
}

let runs = 0

/** Answers with the number of runs of its worker. */
export const counting: FunctionModel = {
  signature,
  run(inputs) {
    const values = valuesOf(inputs[0]!).fill(++runs)
    const data = new Uint8Array(Float32Array.from(values).buffer)
    return [{ name: 'y', datatype: 'FP32', shape: [values.length], data }]
  },
}
