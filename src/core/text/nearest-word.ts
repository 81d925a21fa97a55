/**
 * The known word nearest to a mistyped one, by Levenshtein distance, or undefined when none is
 * nearer than half its length.
 */
export function nearestWord(word: string, known: readonly string[]): string | undefined {
  let best: string | undefined
  let bestDistance = Math.max(2, Math.floor(word.length / 2)) + 1
  for (const candidate of known) {
    const distance = editDistance(word, candidate)
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** The value of a closed set that is nearest to a text: other systems write theirs in capital letters and with underscores. */
export function nearestOf(text: string, values: readonly string[]): string | undefined {
  const lower = text.toLowerCase()
  const same = values.find((value) => value.toLowerCase() === lower)
  return same ?? nearestWord(lower.replaceAll('_', '-'), values) ?? nearestWord(text, values)
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const substitution = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      row.push(Math.min(previous[j]! + 1, row[j - 1]! + 1, substitution))
    }
    previous = row
  }
  return previous[b.length]!
}
