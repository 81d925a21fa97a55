import { isSettled, leaseAfter } from '../../../../../src/cluster/scale-out/decisions/lease.ts'
import { memberTransition } from '../../../../../src/cluster/scale-out/decisions/member-transition.ts'
import { planRound } from '../../../../../src/cluster/scale-out/decisions/plan-round.ts'

/** The decisions that processes run; a mutant replaces one of them. */
export interface Decisions {
  readonly plan: typeof planRound
  readonly transition: typeof memberTransition
  readonly lease: (
    leaseUntilMs: number,
    times: { readonly sentAtMs: number; readonly answeredAtMs: number },
    rules: Parameters<typeof leaseAfter>[2],
  ) => number
  readonly isSettled: typeof isSettled
}

/** The decisions as they are. */
export const REAL_DECISIONS: Decisions = {
  plan: planRound,
  transition: memberTransition,
  lease: (leaseUntilMs, { sentAtMs }, rules) => leaseAfter(leaseUntilMs, sentAtMs, rules),
  isSettled,
}
