import { aFunction, kindOf, numberIn, type OptionKind, oneOf } from '../../../core/options/kinds.ts'
import { checkArgument, type OptionShape, variants } from '../../../core/options/shape.ts'
import { RowMoments } from '../row-moments.ts'
import { type FoldInOptions, FoldInRule } from './fold-in.ts'
import { type GramOptions, GramRule } from './gram.ts'
import type { ModelMoments } from './prior.ts'
import type { OnlineRule, RowShape } from './rule.ts'
import { SgdRule } from './sgd.ts'
import type { SgdOptions } from './sgd-options.ts'
import { type StackOptions, StackRule } from './stack.ts'

export type { ModelMoments } from './prior.ts'

/** The options of an update rule, with its name: plain data, for jobs and the command line. */
export type OnlineRuleOptions =
  | ({ readonly rule: 'sgd' } & SgdOptions)
  | ({ readonly rule: 'gram' } & GramOptions)
  | ({ readonly rule: 'fold-in' } & FoldInOptions)
  | ({ readonly rule: 'stack' } & StackOptions)

const UNBOUNDED = numberIn({ orInfinity: true })
const GUARDS = { gradientClip: UNBOUNDED, normCap: UNBOUNDED }
const ORDER = oneOf('simultaneous', 'user-first')

/** The options of each rule, without its name. Each rule checks the ranges of its own. */
export const ONLINE_RULE_SHAPES: {
  readonly [R in OnlineRuleOptions['rule']]: OptionShape<
    Omit<Extract<OnlineRuleOptions, { readonly rule: R }>, 'rule'>
  >
} = {
  sgd: {
    ...GUARDS,
    learningRate: numberIn(),
    schedule: oneOf('constant', 'decayed', 'adagrad'),
    decay: numberIn(),
    userRegularization: numberIn(),
    itemRegularization: numberIn(),
    newcomers: UNBOUNDED,
    order: ORDER,
    deltas: oneOf('pair', 'step'),
    globalMean: numberIn(),
  },
  gram: {
    ...GUARDS,
    noise: numberIn(),
    newUserNoise: numberIn(),
    userForgetting: numberIn(),
    itemForgetting: numberIn(),
    newcomers: UNBOUNDED,
    order: ORDER,
  },
  'fold-in': { ...GUARDS, feedback: oneOf('explicit', 'implicit'), newcomers: UNBOUNDED },
  stack: { stackForgetting: numberIn(), stackPrior: numberIn(), globalMean: numberIn() },
}

/** The kind of the options of update rules. */
export const ONLINE_RULE: OptionKind<OnlineRuleOptions> = variants<OnlineRuleOptions, 'rule'>(
  'rule',
  ONLINE_RULE_SHAPES,
)

/** Names of the rules. */
export const ONLINE_RULES = ['gram', 'sgd', 'fold-in', 'stack'] as const

/** What rules take from the version that they learn. */
export interface VersionFacts {
  /** Mean of the ratings that it was trained on. */
  readonly globalMean: number
  /** Variance of a rating around its prediction (`ratingNoise`); undefined where it is not known. */
  readonly noise?: number | undefined
}

/** Options with the facts of a version, for the rules that use them; options that are given stay. */
export function withVersionFacts(
  options: OnlineRuleOptions,
  { globalMean, noise }: VersionFacts,
): OnlineRuleOptions {
  if (options.rule === 'sgd' || options.rule === 'stack') return { ...options, globalMean }
  return options.rule === 'gram' && noise !== undefined ? { noise, ...options } : options
}

/** Makes a rule for rows of a shape. Throws INVALID_ARGUMENT. */
export function onlineRule(
  shape: RowShape,
  options: OnlineRuleOptions,
  moments: () => ModelMoments,
): OnlineRule {
  checkArgument('onlineRule', 'shape', ROW_SHAPE, shape)
  checkArgument('onlineRule', 'options', ONLINE_RULE, options)
  checkArgument('onlineRule', 'moments', aFunction(), moments)
  switch (options.rule) {
    case 'sgd':
      return new SgdRule(shape, options)
    case 'gram':
      return new GramRule(shape, moments(), options)
    case 'stack':
      return new StackRule(shape, moments(), options)
    default:
      return new FoldInRule(shape, moments(), options)
  }
}

/** Kind and floats of a rule's deltas, which do not depend on the version. */
export function deltaShape(
  options: OnlineRuleOptions,
  dimension: number,
): { readonly kind: 'step' | 'gram'; readonly length: number } {
  // Biases do not change the size of a delta.
  const shape = { dimension, biased: false }
  const nothing = { user: new RowMoments(shape.dimension), item: new RowMoments(shape.dimension) }
  const { kind, deltaLength } = onlineRule(shape, options, () => nothing)
  return { kind, length: deltaLength }
}

/** The shape of the rows that a rule learns. */
export const ROW_SHAPE: OptionKind<RowShape> = kindOf<RowShape>(
  'the shape of a row, with dimension and biased',
  (given) => typeof (given as Partial<RowShape> | null)?.dimension === 'number',
)
