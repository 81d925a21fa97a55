import { createHash } from 'node:crypto'
import type { Tensor } from '../port/tensor.ts'

/**
 * Key of a request: equal inputs of one version have equal keys. It is a SHA-256, because a key that two
 * requests share would give one the answer of the other.
 */
export function requestKey(version: number, inputs: readonly Tensor[]): string {
  const hash = createHash('sha256')
  const sorted = [...inputs].sort((a, b) => (a.name < b.name ? -1 : 1))
  for (const { name, datatype, shape, data } of sorted) {
    // Lengths come first, so that no two lists of tensors are the same bytes.
    hash.update(`${version} ${name.length} ${name} ${datatype} ${shape.join(',')} ${data.length}\n`)
    hash.update(data)
  }
  return hash.digest('base64')
}
