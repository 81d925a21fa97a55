import { join } from 'node:path'
import { messageOf, WeirError } from '../../core/errors.ts'
import { readFileSync } from '../../files/durable-files.ts'
import type { FileSystem } from '../../files/file-system.ts'
import { type JsonTensor, rawOfJson } from '../../wire/inference/json-tensor.ts'
import { parseExactly } from '../../wire/inference/json-values.ts'
import type { Tensor } from '../port/tensor.ts'

/** Name of the file with inputs whose outputs are known. */
const GOLDEN_FILE = 'golden.json'

/** Inputs whose outputs are known. */
export interface GoldenCase {
  readonly inputs: readonly Tensor[]
  /** Outputs that are compared; others may be anything. */
  readonly outputs: readonly Tensor[]
  /** Largest difference of a number, absolute. */
  readonly tolerance: number
}

/** Largest difference where the file names none. */
const DEFAULT_TOLERANCE = 1e-4

/**
 * Reads the golden cases of a model: `[{"inputs": [...], "outputs": [...], "tolerance": 0.001}]` with tensors
 * of the Open Inference Protocol. No file is no case. Throws MALFORMED_DATA, INVALID_ARGUMENT.
 */
export function readGolden(files: FileSystem, folder: string): readonly GoldenCase[] {
  const path = join(folder, GOLDEN_FILE)
  if (files.statSync(path) === undefined) return []
  try {
    const text = new TextDecoder().decode(readFileSync(files, path))
    const cases = parseExactly(text) as {
      readonly inputs: readonly JsonTensor[]
      readonly outputs: readonly JsonTensor[]
      readonly tolerance?: number
    }[]
    return cases.map(({ inputs, outputs, tolerance = DEFAULT_TOLERANCE }) => ({
      inputs: inputs.map(rawOfJson),
      outputs: outputs.map(rawOfJson),
      tolerance,
    }))
  } catch (cause) {
    throw new WeirError('MALFORMED_DATA', `${path}: ${messageOf(cause)}`, { cause })
  }
}
