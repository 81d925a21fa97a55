import type { ModelStatistics } from '../../inference/port/engine.ts'

/** Statistics of a version as one flat record; batches by the reason of their start are `dispatched.REASON`. */
export function numbersOf(statistics: ModelStatistics | undefined): Record<string, number> {
  if (statistics === undefined) return {}
  const numbers = Object.entries(statistics).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number',
  )
  const reasons = Object.entries(statistics.dispatched).map(
    ([reason, batches]) => [`dispatched.${reason}`, batches] as const,
  )
  return Object.fromEntries([...numbers, ...reasons])
}
