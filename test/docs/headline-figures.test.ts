import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { BENCHMARK_RESULTS, type BenchmarkResult } from '../../scripts/benchmark-results.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const textOf = (path: string): string => readFileSync(resolve(ROOT, path), 'utf8')

/** A result that README or guide quotes: its words are beside it there. */
type Headline = BenchmarkResult & { readonly conditions: string }

const HEADLINES = BENCHMARK_RESULTS.filter(
  (result): result is Headline => result.conditions !== undefined,
)
const GUIDE = ['comparison', 'sizing', 'from-flink', 'serving-papers']
const PAGES = ['README.md', ...GUIDE.map((name) => `docs/guide/${name}.md`)]
const NUMBER = String.raw`(\d[\d,.]*(?: to \d[\d,.]*)?)`
/** A number of things a second, such as 15.8 M ratings/s. */
const RATE = new RegExp(String.raw`${NUMBER}(?: M)? (?:[a-z]+)?\/s\b`, 'g')
/** A rate, or a time such as 0.075 ms. */
const SPEED = new RegExp(String.raw`${NUMBER}(?:(?: M)? (?:[a-z]+)?\/s| ms| s)\b`, 'g')
/** Its times are those of simulated models. */
const RATES_ONLY = 'docs/guide/serving-papers.md'

/** A paragraph or a row of a table. */
interface Part {
  readonly text: string
  /** What speaks of Weir: its column, or all of it. */
  readonly ofWeir: string
}

/** The paragraphs and rows of a page, without what a command prints. */
function partsOf(page: string): readonly Part[] {
  const text = textOf(page).replaceAll(/^```[\s\S]*?^```$/gm, '')
  return text.split('\n\n').flatMap((part) => {
    if (part.startsWith('|')) return rowsOf(part.split('\n'))
    const points = part.split(/\n(?=- )/)
    return points.map((point) => ({ text: point.replaceAll('\n', ' '), ofWeir: point }))
  })
}

/** The rows of a table; one without a column of Weir speaks of Weir only. */
function rowsOf([header = '', , ...rows]: readonly string[]): readonly Part[] {
  const column = header.split('|').findIndex((name) => name.trim().startsWith('Weir'))
  return rows.map((text) => ({ text, ofWeir: column < 0 ? text : (text.split('|')[column] ?? '') }))
}

/** Headlines of the benchmarks that a part names. */
function namedIn({ text }: Part): readonly Headline[] {
  const names = [...text.matchAll(/`([\w-]+)`/g)].map(([, name]) => name!)
  const isNamed = (benchmark: string) =>
    names.some((name) => benchmark === name || benchmark.startsWith(`${name}-`))
  return HEADLINES.filter(({ benchmark }) => isNamed(benchmark))
}

/** Figures of Weir in a part that no benchmark that it names has, with its conditions and its rival. */
function bareFigures(part: Part, speed: RegExp): readonly string[] {
  const named = namedIn(part)
  const figures = [...part.ofWeir.matchAll(speed)].map(([, figure]) => figure!)
  return figures.filter((figure) => {
    const ofFigure = named.filter(
      ({ weir, rivalFigure }) => weir === figure || rivalFigure === figure,
    )
    return !ofFigure.some(({ conditions, rival = '', rivalFigure, ratio = '' }) =>
      [conditions, rival, rivalFigure ?? ratio].every((word) => part.text.includes(word)),
    )
  })
}

describe.each(PAGES)('each speed on %s', (page) => {
  const speeds = partsOf(page).filter(({ ofWeir }) => /\d (?:[a-z]*\/s|ms)\b/.test(ofWeir))

  it('has the name of its benchmark, its conditions and its rival, as the file of results has them', () => {
    expect(speeds.length).toBeGreaterThan(0)
    const speed = page === RATES_ONLY ? RATE : SPEED
    const bare = speeds.map((part) => ({ figures: bareFigures(part, speed), text: part.text }))
    expect(bare.filter(({ figures }) => figures.length > 0)).toEqual([])
  })
})

describe.each(HEADLINES)('the figure $weir of $benchmark', ({ weir = '' }) => {
  it('is on a page', () => {
    const using = PAGES.filter((page) => partsOf(page).some((part) => part.text.includes(weir)))
    expect(using).not.toEqual([])
  })
})
