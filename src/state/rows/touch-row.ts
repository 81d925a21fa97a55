/** Words of a cache line. */
const LINE = 16

/**
 * Loads each cache line of a row, whose header begins at word `header` and whose `stride` floats begin
 * at word `first`. Plain loads, because JavaScript has no prefetch: the caller keeps the sum that is
 * returned, so that the compiler does not remove them.
 */
export function touchRow(words: Int32Array, header: number, first: number, stride: number): number {
  // A header may be in two lines, and the floats end in one more than begin at a multiple of a line.
  let sum = words[header]! ^ words[header + LINE - 1]! ^ words[first]! ^ words[first + stride - 1]!
  // Without a loop up to 129 floats: the processor then has loads of more rows under way.
  if (stride > LINE + 1) sum ^= words[first + LINE]!
  if (stride > 2 * LINE + 1) sum ^= words[first + 2 * LINE]!
  if (stride > 3 * LINE + 1) sum ^= words[first + 3 * LINE]!
  if (stride > 4 * LINE + 1) sum ^= words[first + 4 * LINE]!
  if (stride > 5 * LINE + 1) sum ^= words[first + 5 * LINE]!
  if (stride > 6 * LINE + 1) sum ^= words[first + 6 * LINE]!
  if (stride > 7 * LINE + 1) sum ^= words[first + 7 * LINE]!
  for (let at = 8 * LINE; at < stride - 1; at += LINE) sum ^= words[first + at]!
  return sum
}
