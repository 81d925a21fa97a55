import { WeirError } from '../../core/errors.ts'
import { murmur3 } from '../../core/hash/murmur3.ts'
import { listOf, name, numberIn, recordOf, text } from '../../core/options/kinds.ts'
import { checkOptions, type OptionShape } from '../../core/options/shape.ts'
import { answeredArm, classOf, onlyAnswer } from './answers.ts'
import {
  type ArmRows,
  armOf,
  requireFacts,
  requireObserved,
  requireSelection,
  resizedRow,
} from './arm-rows.ts'
import { draw } from './log-weights.ts'
import type { ObservedChoice, SelectionFacts, Selector } from './selector.ts'

/** Options of `split`. */
export interface SplitOptions {
  /** Weight of each arm by its name, of any sum. Without weights all arms have the same. */
  readonly weights?: Readonly<Record<string, number>>
  /** Names of arms that run beside the chosen one and answer no request. @default [] */
  readonly mirrors?: readonly string[]
  /** A text that makes two experiments on the same contexts independent. @default '' */
  readonly salt?: string
}

const SPLIT: OptionShape<SplitOptions> = {
  weights: recordOf(numberIn({ min: 0 })),
  mirrors: listOf(name),
  salt: text,
}
/** Count, mean of rewards, and sum of squared differences from the mean. */
const ROWS: ArmRows = { selector: 'split', perArm: 3 }
/** The context that stands for all those without one of their own. */
const EVERYONE = '*'

/**
 * A fixed share of contexts for each arm, and the same arm for a context each time: the arm with the least
 * -ln(hash of context and arm) / weight (weighted rendezvous hashing: Thaler and Ravishankar, "Using name-based
 * mappings to increase hit rates", IEEE/ACM Transactions on Networking 6, 1998, section 3). When an arm comes or a
 * weight changes, contexts move only to the arms that gain. The context `*` is no one's: each request draws. State:
 * count, mean and squared differences of the rewards of each arm (Welford's sums), which no choice reads.
 */
export function split(options: SplitOptions = {}): Selector {
  checkOptions('split', SPLIT, options)
  const { salt = '' } = options
  return {
    name: 'split',
    init: (arms) => new Float32Array(ROWS.perArm * arms),
    select(state, facts) {
      requireFacts(ROWS, state, facts)
      const probabilities = weightsOf(options, facts.arms)
      const arm =
        facts.context === EVERYONE
          ? draw(probabilities, facts.random)
          : stickyArm(facts, probabilities, salt)
      const mirrors = facts.arms.flatMap((one, at) => (options.mirrors?.includes(one) ? [at] : []))
      return { run: [arm], mirrors, probabilities, explored: false }
    },
    combine(state, selection, outputs) {
      requireSelection(ROWS, state, selection)
      return onlyAnswer('split', selection, outputs)
    },
    observe(state, choice) {
      requireObserved(ROWS, state, choice)
      const next = state.slice()
      const arm = answeredArm(choice)
      if (arm !== undefined) count(armOf(ROWS, next, arm), choice.reward)
      for (const [mirror, reward] of mirrorRewards(choice)) count(armOf(ROWS, next, mirror), reward)
      return next
    },
    resize: (state, before, after) =>
      resizedRow(ROWS, state, before, after, () => new Float32Array(ROWS.perArm)),
  }
}

/** The share of each arm. Throws INVALID_ARGUMENT where an arm has no weight, or all are 0. */
function weightsOf({ weights, mirrors = [] }: SplitOptions, arms: readonly string[]): Float32Array {
  const own = arms.map((arm) => {
    if (mirrors.includes(arm)) return 0
    const weight = weights === undefined ? 1 : weights[arm]
    if (weight !== undefined) return weight
    throw new WeirError(
      'INVALID_ARGUMENT',
      `the selector split has no weight for the arm "${arm}": add it to weights, 0 for none, or to mirrors`,
    )
  })
  const sum = own.reduce((a, b) => a + b, 0)
  if (sum > 0) return Float32Array.from(own, (weight) => weight / sum)
  throw new WeirError(
    'INVALID_ARGUMENT',
    `no arm of the selector split [${arms.join(', ')}] may answer: give one of them a weight above 0`,
  )
}

function stickyArm({ arms, context }: SelectionFacts, shares: Float32Array, salt: string): number {
  let best = -1
  let least = Infinity
  for (const [at, arm] of arms.entries()) {
    const share = shares[at]!
    if (share === 0) continue
    const bytes = new TextEncoder().encode(`${salt}\0${arm}\0${context}`)
    const distance = -Math.log((murmur3(bytes) + 0.5) / 2 ** 32) / share
    if (distance < least) {
      best = at
      least = distance
    }
  }
  return best
}

/** Rewards of mirrors, which only a label gives. */
function mirrorRewards({ selection, outputs, label }: ObservedChoice): readonly [number, number][] {
  if (label === undefined) return []
  return outputs
    .filter(({ arm, isMean }) => isMean !== true && selection.mirrors.includes(arm))
    .map(({ arm, scores }) => [arm, classOf(scores) === label ? 1 : 0])
}

function count(numbers: Float32Array, reward: number): void {
  const [n = 0, mean = 0, squares = 0] = numbers
  const nextMean = mean + (reward - mean) / (n + 1)
  numbers.set([n + 1, nextMean, squares + (reward - mean) * (reward - nextMean)])
}
