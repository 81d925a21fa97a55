import { type FoldInOptions, FoldInRule } from './online-fold-in.ts'
import { type GramOptions, GramRule } from './online-gram.ts'
import type { ModelMoments } from './online-prior.ts'
import type { OnlineRule, RowShape } from './online-rule.ts'
import { type SgdOptions, SgdRule } from './online-sgd.ts'

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
