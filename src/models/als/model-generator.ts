import { requireArgument } from '../../core/errors.ts'
import type { AlsRow } from './row.ts'
import type { AlsRowKind } from './row-key.ts'

/** Shape of a generated model. */
export interface GeneratedAlsModelOptions {
  readonly users: number
  readonly items: number
  /** Floats of a row. */
  readonly factors: number
  /** @default 1 */
  readonly seed?: number
}

/** Standard deviation of the sum of four random bytes. */
const BYTE_SUM_SIGMA = 147.8
const BYTE_SUM_MEAN = 510

/** One 32-bit mixing step (the finisher of murmur3). */
function mix(h: number): number {
  let x = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35)
  return (x ^ (x >>> 16)) >>> 0
}

/**
 * Writes the generated row `index` of a kind into `out`: near-normal factors (the sum of four random
 * bytes) whose spread falls with the factor's number, as in trained models. A row depends only on the
 * seed, its kind and its index, so any part of a model can be generated separately.
 */
export function generateAlsRow(
  kind: AlsRowKind,
  index: number,
  seed: number,
  out: Float32Array,
): void {
  let state = mix(
    mix(seed ^ (kind === 'U' ? 0x5bd1e995 : 0x1b873593)) + Math.imul(index, 0x9e3779b1),
  )
  for (let i = 0; i < out.length; i++) {
    state = (state + 0x9e3779b9) | 0
    const bits = mix(state)
    const sum = (bits & 255) + ((bits >>> 8) & 255) + ((bits >>> 16) & 255) + (bits >>> 24)
    out[i] = ((sum - BYTE_SUM_MEAN) / BYTE_SUM_SIGMA) * (0.6 / Math.sqrt(1 + i / 8))
  }
}

/**
 * All rows of a generated model, users first, each in its own array. Ids are whole numbers from 1 as text.
 * Throws INVALID_ARGUMENT.
 */
export function* generateAlsModel(options: GeneratedAlsModelOptions): Generator<AlsRow> {
  for (const name of ['users', 'items', 'factors'] as const) {
    requireArgument(
      Number.isSafeInteger(options[name]) && options[name] >= (name === 'factors' ? 1 : 0),
      `${name} is a whole number, not ${options[name]}`,
    )
  }
  const seed = options.seed ?? 1
  for (const [kind, rows] of [
    ['U', options.users],
    ['I', options.items],
  ] as const) {
    for (let index = 0; index < rows; index++) {
      const factors = new Float32Array(options.factors)
      generateAlsRow(kind, index, seed, factors)
      yield { id: String(index + 1), kind, factors }
    }
  }
}
