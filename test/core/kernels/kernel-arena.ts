import { instantiateKernels } from '../../../src/core/kernels/instantiate.ts'
import type { Kernels } from '../../../src/core/kernels/kernels.ts'
import { type Random, seededRandom } from '../../../src/core/random.ts'

/** A memory with kernels over it and a bump allocator, for tests. */
export class KernelArena {
  readonly memory: WebAssembly.Memory
  readonly kernels: Kernels
  private next: number

  constructor(options: { pages?: number; start?: number } = {}) {
    const pages = options.pages ?? 32
    this.memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true })
    this.kernels = instantiateKernels(this.memory)
    this.next = options.start ?? 1024
  }

  /** Address of `bytes` zero bytes, `offset` after a multiple of 16. */
  allocate(bytes: number, offset = 0): number {
    const address = Math.ceil(this.next / 16) * 16 + offset
    this.next = address + bytes + 64
    return address
  }

  /** Address of a copy of `values`. */
  put(values: ArrayLike<number>, offset = 0): number {
    const address = this.allocate(values.length * 4, offset)
    this.floats(address, values.length).set(values)
    return address
  }

  putIndexes(values: ArrayLike<number>): number {
    const address = this.allocate(values.length * 4)
    new Uint32Array(this.memory.buffer, address, values.length).set(values)
    return address
  }

  floats(address: number, length: number): Float32Array {
    return new Float32Array(this.memory.buffer, address, length)
  }
}

/** `length` float32 values around zero. */
export function randomVector(length: number, random: Random = seededRandom(length)): Float32Array {
  return Float32Array.from({ length }, () => random.normal())
}

/** Largest absolute difference of two vectors. */
export function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let largest = 0
  for (let i = 0; i < a.length; i++) {
    const difference = Math.abs((a[i] as number) - (b[i] as number))
    if (!(difference <= largest)) largest = difference
  }
  return largest
}
