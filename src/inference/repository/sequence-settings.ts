import type { CarriedTensor, SequenceSettings } from '../sequences/settings.ts'

const DEFAULT_TTL_MS = 60_000
const DEFAULT_MOST = 10_000

type Fields = Readonly<Record<string, unknown>>

/** The part of `deployment.yaml` under `sequence`, or the key of it that is wrong. */
type ReadSequence =
  | { readonly settings: SequenceSettings }
  | { readonly key: string; readonly takes: string; readonly value: unknown }

/**
 * Reads `sequence`. Each key of `state` is an input, with the output that it is afterwards, or a map of `output` and
 * `shape`. `beside`: the other settings of the file.
 */
export function readSequence(
  given: {
    readonly state: Fields
    readonly ttlMs: number | undefined
    readonly most: number | undefined
  },
  beside: Fields,
): ReadSequence {
  const carried: CarriedTensor[] = []
  for (const [input, value] of Object.entries(given.state)) {
    const one = carriedOf(input, value)
    if (one === undefined) {
      const takes = 'the output that the input is afterwards, or a map of output and shape'
      return { key: `sequence.state.${input}`, takes, value }
    }
    carried.push(one)
  }
  if (carried.length === 0) {
    return {
      key: 'sequence.state',
      takes: 'a map of inputs to outputs, such as { h: hn }',
      value: {},
    }
  }
  // A default is no answer of the model, so the state behind it would be that of another input.
  if (beside['default'] !== undefined) {
    return { key: 'default', takes: 'no value beside sequence', value: beside['default'] }
  }
  const { ttlMs = DEFAULT_TTL_MS, most = DEFAULT_MOST } = given
  return { settings: { carried, ttlMs, most } }
}

function carriedOf(input: string, value: unknown): CarriedTensor | undefined {
  if (typeof value === 'string' && value !== '') return { input, output: value }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const { output, shape, ...others } = value as Fields
  const isShape = Array.isArray(shape) && shape.every((size) => Number.isInteger(size) && size >= 0)
  if (typeof output !== 'string' || output === '' || Object.keys(others).length > 0)
    return undefined
  if (shape === undefined) return { input, output }
  return isShape ? { input, output, shape: shape as number[] } : undefined
}
