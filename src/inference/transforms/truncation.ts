import type { Truncation } from '../port/transforms.ts'

/**
 * Tokens that are kept of each text so that they have `room` together, at least 1, as `truncate_encodings` of the library in
 * Rust decides it. Undefined where the text that may be cut would have no token left, or is not there.
 */
export function keptOf(
  lengths: readonly number[],
  room: number,
  cut: Truncation,
): readonly number[] | undefined {
  const [first = 0, second] = lengths
  const excess = first + (second ?? 0) - room
  if (excess <= 0) return lengths
  if (cut === 'longest-first')
    return second === undefined ? [room] : longestFirst(first, second, room)
  const at = cut === 'only-first' ? 0 : 1
  const kept = (lengths[at] ?? 0) - excess
  return kept > 0 ? lengths.with(at, kept) : undefined
}

/** The shorter text stays while it leaves the other one as much; otherwise both get half, and the longer one the odd token. */
function longestFirst(first: number, second: number, room: number): readonly number[] {
  const shorter = Math.min(first, second)
  const half = Math.floor(room / 2)
  const kept = shorter <= half ? [shorter, room - shorter] : [half, room - half]
  return first > second ? kept.toReversed() : kept
}
