import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const textOf = (path: string): string => readFileSync(resolve(ROOT, path), 'utf8')

interface Headline {
  readonly benchmark: string
  readonly conditions: string
  readonly weir: string
  readonly rival: string
  /** Figure of the rival. */
  readonly besides: string
}

const HEADLINES = JSON.parse(textOf('docs/reference/headline-figures.json')) as readonly Headline[]
const PAGES = [
  'README.md',
  ...['comparison', 'sizing', 'from-flink'].map((name) => `docs/guide/${name}.md`),
  'docs/reference/benchmarks.md',
]

/** The rows of tables, and the paragraphs, of a page. */
function partsOf(page: string): readonly string[] {
  return textOf(page)
    .split('\n\n')
    .flatMap((part) => (part.startsWith('|') ? part.split('\n') : [part.replaceAll('\n', ' ')]))
}

describe.each(HEADLINES)('the figure of $benchmark', (headline) => {
  const { weir, benchmark, conditions, rival, besides } = headline

  it.each(PAGES)('has its name, conditions and rival wherever %s prints it', (page) => {
    const bare = partsOf(page)
      .filter((part) => part.includes(weir))
      .filter(
        (part) => ![benchmark, conditions, rival, besides].every((word) => part.includes(word)),
      )
    expect(bare).toEqual([])
  })

  it('stands in the README, the comparison and the table of benchmarks', () => {
    for (const page of ['README.md', 'docs/guide/comparison.md', 'docs/reference/benchmarks.md']) {
      expect(textOf(page)).toContain(weir)
    }
  })
})
