import { distancesTo, isTestFile } from './distances.ts'
import type { FileGraph } from './file-graph.ts'
import { SERVICES, type Service, servicesOf, testsThatStart } from './services.ts'

/** A part of the tests: those of the architecture, those in one process, and those that start processes and services. */
export type TestKind = 'architecture' | 'unit' | 'system'

/** A test file that a change can break. */
export interface ReachedTest {
  readonly file: string
  readonly kind: TestKind
  /** From the file to the nearest change. The start of a process or thread counts as several. */
  readonly steps: number
  /** Of its last run, or a guess. */
  readonly seconds: number
}

/** What runs after a change. */
export interface Selection {
  readonly run: readonly ReachedTest[]
  /** What the change can reach and does not run, the nearest first. */
  readonly leftOut: readonly ReachedTest[]
  /** Estimated time of the run. */
  readonly seconds: number
  /** Changed files on which every test depends. */
  readonly breaksAll: readonly string[]
  /** Names of services that tests in `leftOut` start, and none in `run`. */
  readonly missingServices: readonly string[]
}

/** How long a selection may take. */
export interface Budget {
  /** Two minutes with the checks before and the start of the runner. @default 90 s */
  readonly seconds?: number
  /** Of `seconds`, for unit tests. @default 30 s */
  readonly unitSeconds?: number
  /** Test files that run at the same time. @default 2 */
  readonly lanes?: number
}

/** The facts of a selection. */
export interface Change {
  readonly graph: FileGraph
  readonly changed: readonly string[]
  /** Seconds of each test file in its last run. */
  readonly costs: ReadonlyMap<string, number>
  /** @default SERVICES */
  readonly services?: readonly Service[]
}

/** A time, and on how many lanes. */
interface Limit {
  readonly seconds: number
  readonly lanes: number
}

/** Seconds of a test file that has not run yet. */
const UNKNOWN: Readonly<Record<TestKind, number>> = { architecture: 2, unit: 0.1, system: 10 }

/** Steps to a file on which every test depends: farther than most imports. */
const FAR = 20

/** The files on which every test depends. */
export const BASIS: readonly RegExp[] = [
  /^(?:package|package-lock|tsconfig)\.json$/,
  /^vitest\.config\.ts$/,
  /^test\/(?:no-warnings|compiled-code)\.ts$/,
  /^test\/run\/[^/]+(?<!\.test)\.ts$/,
]

/**
 * The tests that a change can break, the nearest first, until the time is used up. Tests of the architecture and
 * changed tests always run. Of each service that changed files talk to, the nearest test goes first.
 */
export function selectTests(change: Change, budget: Budget = {}): Selection {
  const { seconds = 90, unitSeconds = 30, lanes = 2 } = budget
  const limit = { seconds, lanes }
  const reached = reachedTests(change)
  const always = reached.filter(runsAlways)
  const ranked = byRank(reached, change.changed)
  const units = ranked.filter(({ kind }) => kind === 'unit')
  const slow = ranked.filter(isSlow)
  const cheap = fill(
    always.filter((test) => !isSlow(test)),
    units,
    { seconds: unitSeconds, lanes },
  )
  const sure = withServices([...cheap, ...always.filter(isSlow)], slow, change, limit)
  return selectionOf(fill(sure, slow, limit), reached, change, lanes)
}

/** The time that tests take on so many lanes: first those in one process, then the others. */
export function wallSeconds(tests: readonly ReachedTest[], lanes: number): number {
  const longest = { cheap: 0, slow: 0 }
  const sum = { cheap: 0, slow: 0 }
  for (const test of tests) {
    const part = isSlow(test) ? 'slow' : 'cheap'
    longest[part] = Math.max(longest[part], test.seconds)
    sum[part] += test.seconds
  }
  return Math.max(longest.cheap, sum.cheap / lanes) + Math.max(longest.slow, sum.slow / lanes)
}

/** The kind of a test file. The comparison of the reference pages, which reads all of `src`, is one of the architecture. */
export function kindOf(file: string): TestKind {
  if (/^test\/(?:architecture\/|docs\/reference-pages\.)/.test(file)) return 'architecture'
  return /^test\/(?:system|recovery)\//.test(file) ? 'system' : 'unit'
}

const isSlow = ({ kind }: ReachedTest): boolean => kind === 'system'

const runsAlways = ({ kind, steps }: ReachedTest): boolean => kind === 'architecture' || steps === 0

/** Tests of the architecture, and all tests from which a way leads to a change. */
function reachedTests({ graph, changed, costs }: Change): readonly ReachedTest[] {
  const distances = distancesTo(changed, graph.edges)
  const farthest = breaksAll(changed).length > 0 ? FAR : Number.POSITIVE_INFINITY
  const tests = [...graph.files].filter(isTestFile).map((file): ReachedTest => {
    const kind = kindOf(file)
    const steps = Math.min(distances.get(file) ?? farthest, farthest)
    return { file, kind, steps, seconds: costs.get(file) ?? UNKNOWN[kind] }
  })
  return tests.filter((test) => runsAlways(test) || Number.isFinite(test.steps))
}

function breaksAll(changed: readonly string[]): readonly string[] {
  return changed.filter((file) => BASIS.some((pattern) => pattern.test(file)))
}

/** By distance, then those with the name of a changed file, or its folders, then the cheap ones. */
function byRank(tests: readonly ReachedTest[], changed: readonly string[]): readonly ReachedTest[] {
  const likeness = new Map(tests.map(({ file }) => [file, likenessOf(file, changed)]))
  const byLikeness = (a: ReachedTest, b: ReachedTest): number =>
    likeness.get(b.file)! - likeness.get(a.file)!
  return [...tests].sort((a, b) => a.steps - b.steps || byLikeness(a, b) || byDistance(a, b))
}

/** Names that the path of a test has in common with that of a changed file. That of the file counts twice. */
function likenessOf(test: string, changed: readonly string[]): number {
  const names = namesIn(test)
  const likeness = changed.map((file) => {
    const own = namesIn(file)
    const common = own.filter((name) => names.includes(name)).length
    return common + (own.at(-1) === names.at(-1) ? 1 : 0)
  })
  return Math.max(0, ...likeness)
}

/** The names in a path, without extensions. */
function namesIn(file: string): readonly string[] {
  return file.split('/').map((name) => name.split('.')[0]!)
}

function byDistance(a: ReachedTest, b: ReachedTest): number {
  return a.steps - b.steps || a.seconds - b.seconds || (a.file < b.file ? -1 : 1)
}

/** Adds for each service that changed files talk to the first test that starts it and fits. */
function withServices(
  taken: readonly ReachedTest[],
  tests: readonly ReachedTest[],
  { graph, changed, services }: Change,
  limit: Limit,
): readonly ReachedTest[] {
  const run = [...taken]
  for (const service of servicesOf(changed, services)) {
    const starting = testsThatStart(service, graph.edges)
    const first = tests
      .filter(({ file }) => starting.has(file))
      .find((test) => run.includes(test) || fits(run, test, limit))
    if (first !== undefined && !run.includes(first)) run.push(first)
  }
  return run
}

/** Adds the tests that fit, in their order. */
function fill(
  taken: readonly ReachedTest[],
  tests: readonly ReachedTest[],
  limit: Limit,
): readonly ReachedTest[] {
  const run = [...taken]
  for (const test of tests) {
    if (!run.includes(test) && fits(run, test, limit)) run.push(test)
  }
  return run
}

function fits(run: readonly ReachedTest[], test: ReachedTest, { seconds, lanes }: Limit): boolean {
  return wallSeconds([...run, test], lanes) <= seconds
}

function selectionOf(
  run: readonly ReachedTest[],
  reached: readonly ReachedTest[],
  change: Change,
  lanes: number,
): Selection {
  const leftOut = reached.filter((test) => !run.includes(test)).sort(byDistance)
  return {
    run,
    leftOut,
    seconds: wallSeconds(run, lanes),
    breaksAll: breaksAll(change.changed),
    missingServices: missingServices(run, leftOut, change),
  }
}

function missingServices(
  run: readonly ReachedTest[],
  leftOut: readonly ReachedTest[],
  { graph, services = SERVICES }: Change,
): readonly string[] {
  const missing = services.filter((service) => {
    const starting = testsThatStart(service, graph.edges)
    const starts = (test: ReachedTest): boolean => isSlow(test) && starting.has(test.file)
    return leftOut.some(starts) && !run.some(starts)
  })
  return missing.map(({ name }) => name)
}
