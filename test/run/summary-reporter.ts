import { cpus } from 'node:os'
import { relative, resolve } from 'node:path'
import type { SerializedError } from 'vitest'
import type { Reporter, TestCase, TestModule } from 'vitest/node'
import { COSTS_VARIABLE, readCosts } from './costs/file-costs.ts'
import { slowestTable } from './costs/slowest-table.ts'
import { idleShare } from './idle-share.ts'
import type { StallReporter } from './stalls/stall-reporter.ts'

const ROOT = resolve(import.meta.dirname, '../..')

/** Files in the table of a run, unless `--slowest` asks for all. */
const SLOWEST = 10

/** A test, or a file as a whole, that failed. */
interface Failure {
  readonly file: string
  /** Undefined where the file failed outside of its tests. */
  readonly test: string | undefined
}

/**
 * The end of a run: the slowest files with what they wait for and how busy the processors were, why tests were skipped,
 * each failure with the command that runs it alone, and last the plain line "N passed, N failed, N skipped".
 */
export class SummaryReporter implements Reporter {
  private readonly stallReporter: Pick<StallReporter, 'stalls'>
  private readonly count: number
  private before = cpus()

  constructor(stallReporter: Pick<StallReporter, 'stalls'>, count = SLOWEST) {
    this.stallReporter = stallReporter
    this.count = count
  }

  onTestRunStart(): void {
    this.before = cpus()
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const failures = modules.flatMap(failuresOf)
    const { stalls } = this.stallReporter
    const of = (state: string): number =>
      tests.filter((test) => test.result().state === state).length
    const sections = [
      this.slowest(),
      skippedOf(tests),
      failures.length === 0 ? '' : ['Failed; alone:', ...failures.map(commandOf)].join('\n  '),
      // A run can fail outside of its files: Node.js warned, or a promise was rejected.
      errors.length === 0 ? '' : `Errors outside of tests: ${errors.length}; they stand above`,
      ...stalls.map((stall) => `Stood still: ${stall}`),
      `${of('passed')} passed, ${failures.length + errors.length + stalls.length} failed, ${of('skipped')} skipped`,
    ]
    process.stdout.write(`\n${sections.filter((text) => text !== '').join('\n\n')}\n`)
  }

  private slowest(): string {
    const path = process.env[COSTS_VARIABLE]
    const costs = path === undefined ? [] : [...readCosts(path).values()]
    if (costs.length < 2) return ''
    const busyPercent = (100 * (1 - idleShare(this.before, cpus()))).toFixed(0)
    const busy = `The processors of this machine were ${busyPercent} % busy. What Vitest calls setup is mostly the wait of files for a place.`
    return `Slowest files, in seconds; npm test -- FILE runs one alone:\n${slowestTable(costs, this.count)}\n${busy}`
  }
}

/** The reasons why tests were skipped, with their files. Tests that `-t` left out have none. */
function skippedOf(tests: readonly TestCase[]): string {
  const counts = new Map<string, number>()
  for (const test of tests) {
    const result = test.result()
    const reason = result.state === 'skipped' && (test.meta().skipReason ?? result.note)
    if (!reason) continue
    const line = `${relative(ROOT, test.module.moduleId)}: ${reason}`
    counts.set(line, (counts.get(line) ?? 0) + 1)
  }
  if (counts.size === 0) return ''
  return ['Skipped:', ...[...counts].map(([line, count]) => `${count} in ${line}`)].join('\n  ')
}

function failuresOf(module: TestModule): readonly Failure[] {
  const file = relative(ROOT, module.moduleId)
  const failed = [...module.children.allTests('failed')].map((test: TestCase) => ({
    file,
    test: test.fullName,
  }))
  if (failed.length > 0 || module.state() !== 'failed') return failed
  return [{ file, test: undefined }]
}

/** Variables that decide which cases a test has. */
const CASES = ['WEIR_SIXTH', 'WEIR_WHOLE', 'WEIR_SEED']

function commandOf({ file, test }: Failure): string {
  const set = CASES.filter((name) => process.env[name] !== undefined)
  const command = [...set.map((name) => `${name}=${process.env[name]}`), 'npm test --', file]
  if (test === undefined) return command.join(' ')
  const name = test.replaceAll(' > ', ' ').replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return `${command.join(' ')} -t '${name.replaceAll("'", "'\\''")}'`
}
