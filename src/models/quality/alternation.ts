/**
 * An order for two lists, oldest first, as if both had been one: for each place whether the next value is of the first list.
 * Each value keeps its relative place in its own list.
 */
export function alternation(first: number, second: number): readonly boolean[] {
  let [i, j] = [0, 0]
  return Array.from({ length: first + second }, () => {
    const isOfFirst = j === second || (i < first && (i + 0.5) * second <= (j + 0.5) * first)
    if (isOfFirst) i++
    else j++
    return isOfFirst
  })
}
