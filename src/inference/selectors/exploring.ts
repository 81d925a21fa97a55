import { requireArgument } from '../../core/errors.ts'
import type { Selector } from './selector.ts'

/**
 * A selector of which a share of the choices, 0 to 1, is one arm drawn uniformly and marked as `explored`: what no
 * model influenced, by which any policy is judged (the validation pool of Velox, CIDR 2015, section 4.3). Where the
 * selector draws one arm, the probabilities are those of both draws together, so that what it learns stays unbiased.
 * Mirrors are never drawn.
 */
export function exploring(selector: Selector, share: number): Selector {
  requireArgument(
    Number.isFinite(share) && share >= 0 && share < 1,
    `exploring: the share must be a number from 0 and below 1, not ${String(share)}`,
  )
  if (share === 0) return selector
  return {
    ...selector,
    select(state, facts) {
      const chosen = selector.select(state, facts)
      const drawn = facts.arms.flatMap((_, arm) => (chosen.mirrors.includes(arm) ? [] : [arm]))
      const uniform = Float32Array.from(facts.arms, (_, arm) =>
        drawn.includes(arm) ? 1 / drawn.length : 0,
      )
      const isOne = chosen.run.length === 1
      const mixed = isOne
        ? chosen.probabilities.map((p, arm) => (1 - share) * p + share * uniform[arm]!)
        : chosen.probabilities
      if (facts.random.next() >= share) return { ...chosen, probabilities: mixed }
      const run = [drawn[facts.random.below(drawn.length)]!]
      return { ...chosen, run, probabilities: isOne ? mixed : uniform, explored: true }
    },
  }
}
