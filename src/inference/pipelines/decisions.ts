import { createHash } from 'node:crypto'
import { requireArgument, WeirError } from '../../core/errors.ts'
import type { Random } from '../../core/random.ts'
import type { RewardOutcome } from '../port/request.ts'
import type { ArmOutput, Selection } from '../selectors/selector.ts'

/*
 * A decision has an id of 32 hexadecimal digits: 12 of its time in ms since 1970, 4 of its pipeline's name, and 16 random
 * ones. So an id says whether it is late, and whether it is of another pipeline, when nothing else is known of it.
 */

/** The choice of one step. */
export interface StepChoice {
  readonly step: string
  readonly arms: readonly string[]
  readonly selection: Selection
  /** Scores of the arms; those that come late are added. */
  readonly outputs: ArmOutput[]
}

/** A request that was answered, for the reward that may come. */
export interface Decision {
  readonly id: string
  readonly context: string
  /** The choices that made the answer; those that only ran beside it learn nothing. */
  readonly choices: readonly StepChoice[]
}

/** Most decisions that wait for a reward. */
const MOST_DECISIONS = 100_000

const TIME_DIGITS = 12
const TAG_DIGITS = 4

/** Decisions of one pipeline that take a reward, in memory: those of before a restart are unmatched. */
export class Decisions {
  private readonly pipeline: string
  private readonly tag: string
  private readonly random: Random
  private readonly most: number
  private readonly waiting = new Map<string, Decision | undefined>()
  /** Rewards by what became of them. */
  readonly observed: Record<RewardOutcome, number> = {
    counted: 0,
    duplicate: 0,
    late: 0,
    unmatched: 0,
  }

  constructor(pipeline: string, random: Random, most = MOST_DECISIONS) {
    this.pipeline = pipeline
    this.tag = tagOf(pipeline)
    this.random = random
    this.most = most
  }

  /** A new id. `nowMs`: since 1970. */
  nextId(nowMs: number): string {
    const time = Math.floor(nowMs).toString(16).padStart(TIME_DIGITS, '0')
    const half = (): string =>
      this.random
        .below(2 ** 32)
        .toString(16)
        .padStart(8, '0')
    return `${time}${this.tag}${half()}${half()}`
  }

  /** A decision takes a reward from now on. The oldest ones give way. */
  add(decision: Decision): void {
    this.waiting.set(decision.id, decision)
    if (this.waiting.size <= this.most) return
    const [oldest] = this.waiting.keys()
    this.waiting.delete(oldest!)
  }

  /**
   * Takes the decision that a reward is for: each is given once. Throws INVALID_ARGUMENT for what is no id, and for that of
   * another pipeline.
   */
  take(
    id: string,
    { nowMs, ttlMs }: { readonly nowMs: number; readonly ttlMs: number },
  ): { readonly as: RewardOutcome; readonly decision?: Decision } {
    requireArgument(
      /^[0-9a-f]{32}$/.test(id),
      `"${id.slice(0, 40)}" is no id of a decision; send the "decision" of the answer as it is`,
    )
    if (id.slice(TIME_DIGITS, TIME_DIGITS + TAG_DIGITS) !== this.tag) {
      const message = `the decision ${id} is of another pipeline than "${this.pipeline}"; observe it there`
      throw new WeirError('INVALID_ARGUMENT', message)
    }
    const found = this.find(id, nowMs - Number.parseInt(id.slice(0, TIME_DIGITS), 16) > ttlMs)
    this.observed[found.as]++
    return found
  }

  private find(id: string, isLate: boolean): ReturnType<Decisions['take']> {
    const decision = this.waiting.get(id)
    if (decision === undefined && this.waiting.has(id)) return { as: 'duplicate' }
    if (isLate) {
      this.waiting.delete(id)
      return { as: 'late' }
    }
    if (decision === undefined) return { as: 'unmatched' }
    // It stays as one that was observed, so that a second reward is known as such.
    this.waiting.set(id, undefined)
    return { as: 'counted', decision }
  }
}

function tagOf(pipeline: string): string {
  return createHash('sha256').update(pipeline).digest('hex').slice(0, TAG_DIGITS)
}
