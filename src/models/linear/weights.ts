import { WeirError } from '../../core/errors.ts'

/**
 * Weights of a linear model as the text of the ancestor, one a line: `<featureId>,<weight>`. The
 * intercept, which the ancestor did not have, is the line `bias,<weight>`. Weights of 0 have no line.
 */
export interface LinearWeight {
  /** A whole number from 0, or the intercept. */
  readonly feature: number | typeof INTERCEPT
  readonly weight: number
}

/** The name of the intercept, instead of a feature id. */
export const INTERCEPT = 'bias'

function requireFinite(feature: number | typeof INTERCEPT, weight: number): void {
  if (Number.isFinite(weight)) return
  throw new WeirError('INVALID_ARGUMENT', `feature ${feature} has the weight ${weight}`)
}

/** One weight as a line, without line end; the shortest text that reads back as the same float64. */
export function formatTextWeight({ feature, weight }: LinearWeight): string {
  requireFinite(feature, weight)
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

/**
 * The lines of a model in blocks of `range` features, as the ancestor's range-partitioned rows:
 * `<block>,<feature>:<weight>;...`, the intercept first as a line of its own. Weights of 0 are left out.
 */
export function* textBlocks(
  weights: ArrayLike<number>,
  intercept: number,
  range: number,
): Generator<string> {
  if (intercept !== 0) yield formatTextWeight({ feature: INTERCEPT, weight: intercept })
  for (let from = 0; from < weights.length; from += range) {
    const pairs: string[] = []
    for (let feature = from; feature < Math.min(from + range, weights.length); feature++) {
      const weight = weights[feature] as number
      requireFinite(feature, weight)
      if (weight !== 0) pairs.push(`${feature}:${weight}`)
    }
    if (pairs.length > 0) yield `${from / range},${pairs.join(';')}`
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
