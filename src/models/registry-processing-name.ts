import { createHash } from 'node:crypto'
import type { DataFile, DataRange, Hyperparameters } from './registry-version.ts'

/** What a version is made of. */
export interface ProcessingInputs {
  readonly ranges: readonly DataRange[]
  readonly files: readonly DataFile[]
  readonly code: string
  readonly hyperparameters: Hyperparameters
}

/**
 * The processing name of a version: `<trainer>-` and 16 hex digits of the SHA-256 over data ranges,
 * hashes of files, parameters and code. It does not depend on the order in which they are given, nor
 * on names of files. Equal names mean that training again is of no use.
 */
export function processingName(inputs: ProcessingInputs): string {
  const ranges = inputs.ranges
    .filter(({ from, to }) => to > from)
    .map(({ topic, partition, from, to }) => `${topic}/${partition}:${from}-${to}`)
    .sort()
  const files = inputs.files.map(({ sha256 }) => sha256).sort()
  const parameters = Object.entries(inputs.hyperparameters).sort(([a], [b]) => (a < b ? -1 : 1))
  const hash = createHash('sha256')
    .update(JSON.stringify([ranges, files, inputs.code, parameters]))
    .digest('hex')
  return `${inputs.code.split('/')[0]}-${hash.slice(0, 16)}`
}
