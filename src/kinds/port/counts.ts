/** Adds to the count of a key. */
export function count<K>(counts: Map<K, number>, key: K, more = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + more)
}

/** The largest count; 0 of none. */
export function largestCount(counts: ReadonlyMap<unknown, number>): number {
  let most = 0
  for (const each of counts.values()) most = Math.max(most, each)
  return most
}

/** Distance of two distributions: half the sum of |p - q| over the values; NaN where one side is empty. */
export function totalVariation(
  left: ReadonlyMap<number, number>,
  right: ReadonlyMap<number, number>,
): number {
  const sum = (counts: ReadonlyMap<number, number>): number =>
    [...counts.values()].reduce((total, each) => total + each, 0)
  const [n, m] = [sum(left), sum(right)]
  if (n === 0 || m === 0) return Number.NaN
  const values = new Set([...left.keys(), ...right.keys()])
  let distance = 0
  for (const value of values) {
    distance += Math.abs((left.get(value) ?? 0) / n - (right.get(value) ?? 0) / m) / 2
  }
  return distance
}
