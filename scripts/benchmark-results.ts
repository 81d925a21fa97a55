import { readFileSync } from 'node:fs'

/** One measured figure, as docs/reference/benchmark-results.json has it. Numbers are texts, as they are quoted. */
export interface BenchmarkResult {
  /** Heading of the table that the figure is in. */
  readonly area: string
  /** Name of the benchmark, or of one of its figures: `predict-hot`, `recovery-first-answer`. */
  readonly benchmark: string
  /** What the figure is: its unit and the conditions that matter. */
  readonly figure: string
  /** Weir's figure; absent where only the ratio was kept. */
  readonly weir?: string
  /** What was measured beside it; absent for nothing. */
  readonly rival?: string
  readonly rivalFigure?: string
  /** Weir's figure over that of the rival. */
  readonly ratio?: string
  /** The wanted figure or ratio, such as `at least 1.3 x`. */
  readonly goal?: string
  /** Whether the goal was reached; absent where there is none. */
  readonly met?: boolean
  /** The machine in words. */
  readonly machine: string
  /** Share of the data, 1 for all of it. */
  readonly scale: number
  /** Day of the measurement, or of the first page that had it: `2026-11-26`. */
  readonly date: string
  /** Words that README and guide have beside the figure; absent where they do not quote it. */
  readonly conditions?: string
}

const REFERENCE = new URL('../docs/reference/', import.meta.url)
const BEGIN = '<!-- results: written by `npm run docs` -->\n'
const END = '<!-- end of results -->\n'
const HEADER = `| benchmark | figure | Weir | beside it | ratio | goal | measured |
|---|---|---|---|---|---|---|
`

/** The results of docs/reference/benchmark-results.json. */
export const BENCHMARK_RESULTS: readonly BenchmarkResult[] = JSON.parse(
  readFileSync(new URL('benchmark-results.json', REFERENCE), 'utf8'),
)

/** The page of the benchmarks: its prose as it is, with the tables of the results. */
export function benchmarkPage(): string {
  const page = readFileSync(new URL('benchmarks.md', REFERENCE), 'utf8')
  const [before, rest = ''] = page.split(BEGIN)
  const [, after] = rest.split(END)
  if (after === undefined) throw new Error(`benchmarks.md has no place for results: ${BEGIN}`)
  return `${before}${BEGIN}\n${resultTables()}\n${END}${after}`
}

function resultTables(): string {
  const areas = [...new Set(BENCHMARK_RESULTS.map(({ area }) => area))]
  return areas.map(tableOf).join('\n')
}

function tableOf(area: string): string {
  const rows = BENCHMARK_RESULTS.filter((result) => result.area === area).map(rowOf)
  return `### ${area}\n\n${HEADER}${rows.join('')}`
}

function rowOf(result: BenchmarkResult): string {
  const { benchmark, figure, weir = '', rival = '', rivalFigure = '', ratio } = result
  const cells = [
    `\`${benchmark}\``,
    figure,
    weir,
    `${rival} ${rivalFigure}`.trim(),
    ratio === undefined ? '' : `${ratio} x`,
    goalOf(result),
    measuredOf(result),
  ]
  return `| ${cells.join(' | ')} |\n`
}

const goalOf = ({ goal = '', met }: BenchmarkResult): string =>
  met === false ? `${goal}: missed` : goal

const measuredOf = ({ date, machine, scale }: BenchmarkResult): string =>
  `${date}, ${machine}${scale === 1 ? '' : `, \`--scale ${scale}\``}`
