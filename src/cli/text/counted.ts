/** A number with its noun, in the singular for 1: `1 record`, `3 records`. `plural` is for irregular nouns. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`
}
