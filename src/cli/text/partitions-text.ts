/** Job partitions in words: `0-3, 7`. */
export function partitionsText(partitions: readonly number[]): string {
  if (partitions.length === 0) return 'none'
  const ranges: [number, number][] = []
  for (const partition of partitions) {
    const last = ranges.at(-1)
    if (last !== undefined && last[1] + 1 === partition) last[1] = partition
    else ranges.push([partition, partition])
  }
  return ranges
    .map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`))
    .join(', ')
}
