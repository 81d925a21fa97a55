import { type FoldInOptions, FoldInRule } from './online-fold-in.ts'
import { type GramOptions, GramRule } from './online-gram.ts'
import type { ModelMoments } from './online-prior.ts'
import type { OnlineRule, RowShape } from './online-rule.ts'
import { type SgdOptions, SgdRule } from './online-sgd.ts'
import { RowMoments } from './row-moments.ts'

export type { ModelMoments } from './online-prior.ts'

/** An update rule by name, with its options: plain data, for jobs and the command line. */
export type OnlineRuleOptions =
  | ({ readonly rule: 'sgd' } & SgdOptions)
  | ({ readonly rule: 'gram' } & GramOptions)
  | ({ readonly rule: 'fold-in' } & FoldInOptions)

/** Whether the rule needs the moments of the batch model's rows. */
export function needsMoments(options: OnlineRuleOptions): boolean {
  return options.rule !== 'sgd'
}

/** Makes a rule for rows of a shape. Throws INVALID_ARGUMENT. */
export function onlineRule(
  shape: RowShape,
  options: OnlineRuleOptions,
  moments: () => ModelMoments,
): OnlineRule {
  switch (options.rule) {
    case 'sgd':
      return new SgdRule(shape, options)
    case 'gram':
      return new GramRule(shape, moments(), options)
    default:
      return new FoldInRule(shape, moments(), options)
  }
}

/** Kind and floats of a rule's deltas, known before any version is. */
export function deltaShape(
  options: OnlineRuleOptions,
  dimension: number,
): { readonly kind: 'step' | 'gram'; readonly length: number } {
  // Biases make no difference to the size of a delta.
  const shape = { dimension, biased: false }
  const nothing = { user: new RowMoments(shape.dimension), item: new RowMoments(shape.dimension) }
  const { kind, deltaLength } = onlineRule(shape, options, () => nothing)
  return { kind, length: deltaLength }
}
