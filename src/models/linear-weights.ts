import { requireArgument, WeirError } from '../core/errors.ts'

/**
 * Weights of a linear model as text, one a line, as the ancestor wrote them: `<featureId>,<weight>`.
 * The intercept, which the ancestor had none of, is the line `bias,<weight>`; weights of 0 have no
 * line.
 */
export interface LinearWeight {
  /** A whole number from 0, or the intercept. */
  readonly feature: number | typeof INTERCEPT
  readonly weight: number
}

/** Stands in the feature's place for the intercept. */
export const INTERCEPT = 'bias'

/** One weight as a line, without line end; the shortest text that reads back as the same float64. */
export function formatTextWeight({ feature, weight }: LinearWeight): string {
  requireArgument(Number.isFinite(weight), `feature ${feature} has the weight ${weight}`)
  return `${feature},${weight}`
}

/** All lines of a model, intercept first. */
export function* textWeights(weights: ArrayLike<number>, intercept: number): Generator<string> {
  if (intercept !== 0) yield formatTextWeight({ feature: INTERCEPT, weight: intercept })
  for (let feature = 0; feature < weights.length; feature++) {
    const weight = weights[feature] as number
    if (weight !== 0) yield formatTextWeight({ feature, weight })
  }
}

/** Reads one line. Throws UNPARSABLE_RECORD that names `line` (from 1). */
export function parseTextWeight(text: string, line = 1): LinearWeight {
  const comma = text.indexOf(',')
  const id = text.slice(0, comma).trim()
  const value = text.slice(comma + 1).trim()
  const weight = value === '' ? Number.NaN : Number(value)
  const isFeature = /^[0-9]{1,15}$/.test(id)
  if (comma < 1 || !Number.isFinite(weight) || !(isFeature || id === INTERCEPT)) {
    throw new WeirError(
      'UNPARSABLE_RECORD',
      `line ${line} of the weights, "${text.slice(0, 60)}": expected <featureId>,<weight>`,
      { details: { line } },
    )
  }
  return { feature: isFeature ? Number(id) : INTERCEPT, weight }
}
