/**
 * Fewest non-zeros of the examples for which one more thread pays. A round takes about 8 ns for each, 2 ms in
 * all; the start of a thread takes 40 ms, as long as it saves in 20 rounds.
 */
const LEAST_NON_ZEROS = 250_000

/**
 * Number of worker threads that make a run faster: never more than asked for, than there are blocks to take,
 * and than there is work for. The trained weights do not depend on it.
 */
export function usefulThreads(
  asked: number,
  { blocks, nonZeros }: { readonly blocks: number; readonly nonZeros: number },
): number {
  const worthwhile = Math.max(1, Math.floor(nonZeros / LEAST_NON_ZEROS))
  return Math.min(asked, blocks, worthwhile)
}
