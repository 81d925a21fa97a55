import type { WasmMemory } from '../lifetime/wasm-memory.ts'
import { instantiateKernels } from './instantiate.ts'
import type { Kernels } from './kernels.ts'

const kernelsOf = new WeakMap<WasmMemory, Kernels>()

/** This thread's kernels over a row table's memory. */
export function kernelsFor(memory: WasmMemory): Kernels {
  let kernels = kernelsOf.get(memory)
  if (kernels === undefined) {
    kernels = instantiateKernels(memory)
    kernelsOf.set(memory, kernels)
  }
  return kernels
}
