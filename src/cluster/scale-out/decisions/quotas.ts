/** Facts about a member from which its number of partitions follows. */
export interface QuotaFacts {
  /** Share relative to the others', > 0; 0 for a member that gets none. */
  readonly capacity: number
  /** Partitions that it owns now. */
  readonly owned: number
}

/**
 * Numbers of partitions of each member, in their order: each differs by less than one from its share
 * `partitions * capacity / sum of capacities`, and the sum is `partitions`, or 0 without any capacity. Those
 * who own more than the whole part of their share get one more first, then those with the larger rest
 * (Hamilton's method): so no other split of this balance moves fewer partitions.
 */
export function quotasOf(members: readonly QuotaFacts[], partitions: number): number[] {
  const total = members.reduce((sum, { capacity }) => sum + capacity, 0)
  if (total === 0) return members.map(() => 0)
  const quotas = members.map(({ capacity }) => Math.floor((partitions * capacity) / total))
  const rests = members.map(({ capacity }) => (partitions * capacity) % total)
  const over = (place: number): number => (members[place]!.owned > quotas[place]! ? 1 : 0)
  const order = members
    .map((_, place) => place)
    .filter((place) => rests[place]! > 0)
    .sort((a, b) => over(b) - over(a) || rests[b]! - rests[a]! || a - b)
  const left = partitions - quotas.reduce((sum, quota) => sum + quota, 0)
  for (const place of order.slice(0, left)) quotas[place]! += 1
  return quotas
}
