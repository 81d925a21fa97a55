import { signal } from '@preact/signals'

/** Titles of items by id, from a file that the reader chose; kept until the tab is closed. */
export const titles = signal<ReadonlyMap<string, string>>(new Map())

/** What separates the id from the title: that of CSV, of MovieLens 1M (`::`) and 100k (`|`), or a tab. */
const SEPARATOR = /::|[,;|\t]/

/**
 * Titles from lines `id,title`; further fields of files separated by `|` or `::` are left out. Lines without
 * a separator are skipped.
 */
export function parseTitles(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const line of text.split(/\r?\n/)) {
    const separator = SEPARATOR.exec(line)
    if (separator === null) continue
    const rest = line.slice(separator.index + separator[0].length)
    const isLast = separator[0] === '::' || separator[0] === '|'
    const title = (isLast ? rest.split(separator[0])[0]! : rest).trim()
    const unquoted = /^"(.*)"/.exec(title)?.[1]?.replaceAll('""', '"') ?? title
    const id = line.slice(0, separator.index).trim()
    if (id !== '' && unquoted !== '') found.set(id, unquoted)
  }
  return found
}
