import { aFunction, numberIn, type OptionKind, required } from '../core/options/kinds.ts'
import { checkArgument, nested, variants } from '../core/options/shape.ts'
import type { OnlineRule, RowShape } from '../models/als/online/rule.ts'
import {
  type ModelMoments,
  ONLINE_RULE_SHAPES,
  type OnlineRuleOptions,
  onlineRule,
  ROW_SHAPE,
  type VersionFacts,
  withVersionFacts,
} from '../models/als/online/rules.ts'
import { RowMoments } from '../models/als/row-moments.ts'
import type { Hyperparameters } from '../models/registry/version.ts'
import { dampingOf } from './popularity/options.ts'
import { POPULARITY_RULE, PopularityRule, type PopularityRuleOptions } from './popularity/rule.ts'

/*
 * The rules by which a job learns rows of factors: those of ALS models, of which a job chooses one, and those that a kind of
 * model has of its own. Every slot loads this file, so it has no code of trainers and gates.
 */

/** Options of the rule of a job that learns factor rows. */
export type LearnerRuleOptions = OnlineRuleOptions | PopularityRuleOptions

/** The kind of the options of a rule. */
export const LEARNER_RULE: OptionKind<LearnerRuleOptions> = variants<LearnerRuleOptions, 'rule'>(
  'rule',
  { ...ONLINE_RULE_SHAPES, popularity: POPULARITY_RULE },
)

const FACTS: OptionKind<LearnerRuleFacts> = nested<LearnerRuleFacts>({
  globalMean: required(numberIn()),
  noise: numberIn({ above: 0 }),
  moments: required(aFunction()),
})

/** The rule that learns a version, where its kind has only one; undefined for ALS models, which have several. */
export function ruleOfKind(hyperparameters: Hyperparameters): LearnerRuleOptions | undefined {
  const damping = dampingOf(hyperparameters)
  return damping === undefined ? undefined : { rule: 'popularity', damping }
}

/** What a rule takes from the version that it learns. */
export interface LearnerRuleFacts extends VersionFacts {
  /** Moments of its rows. Rules that need none do not call it. */
  readonly moments: () => ModelMoments
}

/** Makes the rule of a version. Throws INVALID_ARGUMENT. */
export function learnerRule(
  shape: RowShape,
  options: LearnerRuleOptions,
  facts: LearnerRuleFacts,
): OnlineRule {
  checkArgument('learnerRule', 'shape', ROW_SHAPE, shape)
  checkArgument('learnerRule', 'options', LEARNER_RULE, options)
  checkArgument('learnerRule', 'facts', FACTS, facts)
  const { moments, ...ofVersion } = facts
  if (options.rule === 'popularity')
    return new PopularityRule(shape, { ...options, globalMean: facts.globalMean })
  return onlineRule(shape, withVersionFacts(options, ofVersion), moments)
}

/** Kind and floats of a rule's deltas, which do not depend on the version. */
export function learnerDeltas(
  options: LearnerRuleOptions,
  dimension: number,
): { readonly kind: 'step' | 'gram'; readonly length: number } {
  // Biases do not change the size of a delta.
  const nothing = { user: new RowMoments(dimension), item: new RowMoments(dimension) }
  const { kind, deltaLength } = learnerRule({ dimension, biased: false }, options, {
    globalMean: 0,
    moments: () => nothing,
  })
  return { kind, length: deltaLength }
}
