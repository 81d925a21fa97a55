import type { FunctionModel } from '../../src/inference/port/runner.ts'
import type { ModelSignature } from '../../src/inference/port/signature.ts'

/* Models of a known cost, for workers. A run waits and uses no processor, as one of another machine. */

/** Options of `costing`. */
export interface CostOptions {
  readonly fixedMs: number
  readonly itemMs: number
}

const signature: ModelSignature = {
  batches: true,
  inputs: [{ name: 'x', datatype: 'FP32', shape: [-1] }],
  outputs: [{ name: 'y', datatype: 'FP32', shape: [-1] }],
}

let cost: CostOptions = { fixedMs: 0, itemMs: 0 }
const never = new Int32Array(new SharedArrayBuffer(4))

/** Answers with its input after `fixedMs + itemMs x items`. */
export const costing: FunctionModel = {
  signature,
  load(options) {
    cost = options as CostOptions
  },
  run(inputs, items) {
    // A timer of the event loop counts whole milliseconds only.
    Atomics.wait(never, 0, 0, cost.fixedMs + cost.itemMs * items)
    return inputs.map((tensor) => ({ ...tensor, name: 'y' }))
  },
}

/** Options of `stalling`: runs of `runMs`, a share of which takes `stallMs` more. */
export interface StallOptions {
  readonly runMs: number
  readonly stallMs: number
  readonly share: number
}

let stall: StallOptions = { runMs: 0, stallMs: 0, share: 0 }

/** Answers with its input; each worker stalls in runs of its own. */
export const stalling: FunctionModel = {
  signature,
  load(options) {
    stall = options as StallOptions
  },
  run(inputs) {
    const isStalled = Math.random() < stall.share
    Atomics.wait(never, 0, 0, stall.runMs + (isStalled ? stall.stallMs : 0))
    return inputs.map((tensor) => ({ ...tensor, name: 'y' }))
  },
}
