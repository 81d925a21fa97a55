/** Titles of items by id. */
export type ItemTitles = ReadonlyMap<string, string>

/** What separates the id from the title: that of CSV, of MovieLens 1M (`::`) and 100k (`|`), or a tab. */
const SEPARATOR = /::|[,;|\t]/

/**
 * Titles from lines `id,title`; a title in double quotes may have commas and doubled quotes. Of files
 * separated by `::` or `|` further fields are left out. Lines without a separator are skipped.
 */
export function parseItemTitles(text: string): ItemTitles {
  const titles = new Map<string, string>()
  for (const line of text.split(/\r?\n/)) {
    const separator = SEPARATOR.exec(line)
    if (separator === null) continue
    const id = line.slice(0, separator.index).trim()
    const title = titleOf(line.slice(separator.index + separator[0].length), separator[0])
    if (id !== '' && title !== '') titles.set(id, title)
  }
  return titles
}

function titleOf(rest: string, separator: string): string {
  const hasMore = separator === '::' || separator === '|'
  const title = (hasMore ? rest.split(separator)[0]! : rest).trim()
  return /^"(.*)"/.exec(title)?.[1]?.replaceAll('""', '"') ?? title
}
