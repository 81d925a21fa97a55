import { createHash } from 'node:crypto'
import type { DataFile, DataRange, Hyperparameters } from './version.ts'

/** Inputs that a version is made from. */
export interface ProcessingInputs {
  readonly ranges: readonly DataRange[]
  readonly files: readonly DataFile[]
  readonly code: string
  readonly hyperparameters: Hyperparameters
  /** Id of the version whose rows the training starts from; undefined if it starts from random rows. */
  readonly parent?: string | undefined
}

/**
 * The processing name of a version: `<trainer>-` and 16 hex digits of the SHA-256 over data ranges,
 * hashes of files, parameters, code and the version of a warm start. It depends neither on their order nor on names of files. Where
 * two names are equal, a second training gives the same version.
 */
export function processingName(inputs: ProcessingInputs): string {
  const ranges = inputs.ranges
    .filter(({ from, to }) => to > from)
    .map(({ topic, partition, from, to }) => `${topic}/${partition}:${from}-${to}`)
    .sort()
  const files = inputs.files.map(({ sha256 }) => sha256).sort()
  const parameters = Object.entries(inputs.hyperparameters).sort(([a], [b]) => (a < b ? -1 : 1))
  const hash = createHash('sha256')
    .update(JSON.stringify([ranges, files, inputs.code, parameters, inputs.parent ?? null]))
    .digest('hex')
  return `${inputs.code.split('/')[0]}-${hash.slice(0, 16)}`
}
