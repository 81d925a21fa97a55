import type { FlagKind, FlagSort } from '../../../src/cli/flag-kinds/flag-kind.ts'

/** Texts that no flag of a sort takes, whatever its range. A new sort does not compile without its texts. */
const WRONG: Readonly<Record<FlagSort, readonly string[]>> = {
  count: ['', ' ', 'many', '1,5', '0x10', 'NaN', 'Infinity', '1.5', '9e99', '5s'],
  number: ['', ' ', 'many', '1,5', '0x10', 'NaN', 'Infinity', '--'],
  duration: ['', ' ', 'soon', '5s', '0x10', 'Infinity'],
  bytes: ['', 'much', '10 parsecs', '-1mb', '0'],
  port: ['', 'http', '-1', '65536', '80.5', '0x50'],
  address: ['', ' ', 'a b', ':', 'host:', 'host:port', 'host:70000', 'http://'],
  url: ['', 'nowhere', 'gopher://x', 'a b'],
  path: ['', ' ', '\0'],
  word: ['', ' ', 'no-such-word'],
  pair: ['', '=', 'no pair'],
  range: ['', ':', ',', 'a,b', '5:1', '1,2,3,4'],
  list: ['', ',', 'a', 'a,,b'],
  text: ['', ' ', 'two\nlines'],
  secret: [''],
}

/** Texts that a flag of a kind refuses: those of its sort, those outside its bounds, and a misspelt word. */
export function wrongValuesOf(kind: FlagKind): readonly string[] {
  return [
    ...WRONG[kind.sort].filter((text) => !isTaken(kind, text)),
    ...outside(kind),
    ...misspelt(kind),
  ]
}

/** The few texts of a sort that one kind of it takes, by what the kind says: a body may be empty, a separator a blank. */
function isTaken({ sort, takes }: FlagKind, text: string): boolean {
  if (sort !== 'text') return false
  if (takes === 'a text') return true
  if (takes === 'a text that is not empty') return text !== ''
  return takes.startsWith('at most') && text.trim() === ''
}

/** Numbers next to the bounds that the kind names. */
function outside({ takes, sort }: FlagKind): readonly string[] {
  if (!['count', 'number', 'duration', 'port'].includes(sort)) return []
  const [, from] = / from (-?[\d.]+)/.exec(takes) ?? []
  const [, above] = / above (-?[\d.]+)/.exec(takes) ?? []
  const [, to] = / to (-?[\d.]+)/.exec(takes) ?? []
  const [, below] = / below (-?[\d.]+)/.exec(takes) ?? []
  return [
    ...(from === undefined ? [] : [String(Number(from) - 1)]),
    ...(above === undefined ? [] : [above, String(Number(above) - 1)]),
    ...(to === undefined ? [] : [String(Number(to) + 1)]),
    ...(below === undefined ? [] : [below]),
  ]
}

/** A word of the set, misspelt. */
function misspelt({ words = [] }: FlagKind): readonly string[] {
  return words.filter((word) => word.length > 2).map((word) => `${word}x`)
}
