/** An item with its similarity to another one. */
export interface SimilarItem {
  readonly item: string
  /** Cosine of the angle between the rows, -1 to 1. */
  readonly similarity: number
}

/** Cosine of the angle between two rows of one length; 0 for a row of zeros. */
export function cosine(a: readonly number[], b: readonly number[]): number {
  const dot = a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0)
  const size = Math.hypot(...a) * Math.hypot(...b)
  return size === 0 ? 0 : dot / size
}

/** Known items by their similarity to a row, most similar first. */
export function bySimilarity(
  row: readonly number[],
  known: ReadonlyMap<string, readonly number[]>,
): readonly SimilarItem[] {
  return [...known]
    .map(([item, other]) => ({ item, similarity: cosine(row, other) }))
    .sort((a, b) => b.similarity - a.similarity)
}

/** Ids in a text, separated by commas or blanks, each once. */
export function idsOf(text: string): readonly string[] {
  return [...new Set(text.split(/[\s,;]+/).filter((id) => id !== ''))]
}
