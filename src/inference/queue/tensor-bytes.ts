import type { TensorSpec } from '../port/signature.ts'
import type { Tensor } from '../port/tensor.ts'
import type { QueueMemory } from './memory.ts'

/** Words before the dimensions of a tensor: bytes of data, rank. */
const TENSOR_HEAD = 2

const align8 = (bytes: number): number => (bytes + 7) & ~7

/**
 * Writes tensors one after the other at a byte offset: for each its length, rank and dimensions (4 bytes
 * each), then its data; both parts start at multiples of 8. Returns the bytes written, or -1 when they
 * need more than `limit`.
 */
export function writeTensors(
  memory: QueueMemory,
  offset: number,
  limit: number,
  tensors: readonly Tensor[],
): number {
  let at = offset
  for (const { shape, data } of tensors) {
    const head = at / 4
    const dataAt = at + align8((TENSOR_HEAD + shape.length) * 4)
    const end = dataAt + align8(data.length)
    if (end > offset + limit) return -1
    memory.words[head] = data.length
    memory.words[head + 1] = shape.length
    for (let i = 0; i < shape.length; i++) memory.words[head + TENSOR_HEAD + i] = shape[i]!
    copyToShared(memory.bytes, data, dataAt)
    at = end
  }
  return at - offset
}

/** Memory of this thread between what a request has and a slot. */
const stage = new Uint8Array(16 * 1024)
/** Shorter data are copied at once. */
const STAGED_BYTES = 128

/**
 * Copies data into shared memory at a multiple of 8. There V8 copies words where both sides are aligned, and one byte after the
 * other where they are not, as the data of a frame or of an HTTP body mostly are: 3 KiB take 1.2 us, and 0.5 us by a copy in
 * between.
 */
function copyToShared(bytes: Uint8Array, data: Uint8Array, at: number): void {
  if (data.length < STAGED_BYTES || data.byteOffset % 8 === 0) {
    bytes.set(data, at)
    return
  }
  for (let from = 0; from < data.length; from += stage.length) {
    const part = data.subarray(from, from + stage.length)
    stage.set(part)
    bytes.set(stage.subarray(0, part.length), at + from)
  }
}

/** The tensors at a byte offset, by the order of `specs`. Their data are views of the memory. */
export function readTensors(
  memory: QueueMemory,
  offset: number,
  specs: readonly TensorSpec[],
): Tensor[] {
  const { words, bytes } = memory
  const tensors: Tensor[] = []
  let at = offset
  for (const { name, datatype } of specs) {
    const head = at / 4
    const length = words[head]!
    const rank = words[head + 1]!
    const shape: number[] = []
    for (let i = 0; i < rank; i++) shape.push(words[head + TENSOR_HEAD + i]!)
    const dataAt = at + align8((TENSOR_HEAD + rank) * 4)
    at = dataAt + align8(length)
    tensors.push({ name, datatype, shape, data: bytes.subarray(dataAt, dataAt + length) })
  }
  return tensors
}
