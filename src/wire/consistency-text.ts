import { isPlace } from '../core/position.ts'
import type { Consistency } from './model-reader.ts'

/** The grammar of `parseConsistency`, for messages and `--help`. */
export const CONSISTENCY_GRAMMAR =
  'live, checkpoint, at-least:[SOURCE:]PARTITION:OFFSET or bounded:MS'

/** The consistency that a text names; undefined for any text outside the grammar. */
export function parseConsistency(text: string): Consistency | undefined {
  const [level, ...words] = text.split(':')
  const numbers = words.map((word) => (/^[0-9]+$/.test(word) ? Number(word) : Number.NaN))
  if (!numbers.every(Number.isSafeInteger)) return undefined
  if ((level === 'live' || level === 'checkpoint') && words.length === 0) return { level }
  if (level === 'bounded' && words.length === 1) return { level, maxAgeMs: numbers[0]! }
  if (level !== 'at-least') return undefined
  const [offset, partition, source = 0, ...more] = numbers.toReversed()
  const isWhole = offset !== undefined && partition !== undefined && more.length === 0
  return isWhole && isPlace(source, partition) ? { level, source, partition, offset } : undefined
}
