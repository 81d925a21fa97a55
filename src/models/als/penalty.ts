/** Growth of a row's penalty with its n ratings: lambda n (ALS-WR), lambda sqrt(n), or lambda. */
export type PenaltyScaling = 'n' | 'sqrt-n' | 'constant'

/** The growths of a penalty. */
export const PENALTY_SCALINGS = ['n', 'sqrt-n', 'constant'] as const

/** Factor of the penalty of a row with `count` ratings. */
export function penaltyFactor(penalty: PenaltyScaling, count: number): number {
  return penalty === 'n' ? count : penalty === 'sqrt-n' ? Math.sqrt(count) : 1
}
