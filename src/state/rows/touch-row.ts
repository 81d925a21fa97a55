/** Words of a cache line. */
const LINE_WORDS = 16

/**
 * Loads each cache line of a row, whose header begins at word `header` and whose `stride` floats begin
 * at word `first`. Plain loads, because JavaScript has no prefetch: the caller keeps the sum that is
 * returned, so that the compiler does not remove them.
 */
export function touchRow(words: Int32Array, header: number, first: number, stride: number): number {
  // A header may be in two lines.
  let sum = (words[header]! & 1) + (words[header + LINE_WORDS - 1]! & 1)
  const last = first + stride - 1
  for (let at = first; at < last; at += LINE_WORDS) sum += words[at]! & 1
  return sum + (words[last]! & 1)
}
