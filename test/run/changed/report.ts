import type { ReachedTest, Selection, TestKind } from './select-tests.ts'

/** Names in a list, before the rest is only counted. */
const MOST = 10

const KINDS: readonly TestKind[] = ['architecture', 'unit', 'system']

/** What a selection says of itself: what changed, what runs, and what is left out. */
export function reportOf(commit: string, changed: readonly string[], selection: Selection): string {
  if (changed.length === 0) return `Nothing has changed since ${commit}: no test runs.`
  const { breaksAll } = selection
  const sections = [
    `Changed since ${commit}: ${listOf(changed)}`,
    breaksAll.length === 0 ? '' : `Every test depends on ${listOf(breaksAll)}`,
    runningOf(selection),
    ...leavingOutOf(selection),
  ]
  return sections.filter((text) => text !== '').join('\n')
}

function listOf(names: readonly string[]): string {
  const more = names.length - MOST
  const end = more > 0 ? `, and ${more} more` : ''
  return `${names.slice(0, MOST).join(', ')}${end}`
}

function runningOf({ run, seconds }: Selection): string {
  const others = run.filter(({ kind }) => kind !== 'architecture')
  const time = `about ${Math.ceil(seconds)} s`
  if (others.length === 0) {
    return `Runs the ${filesOf(run.length)} of the architecture, ${time}: no other test reaches the change`
  }
  const parts = KINDS.map((kind) => `${run.filter((test) => test.kind === kind).length} ${kind}`)
  return `Runs ${filesOf(run.length)}, ${time}: ${parts.join(', ')}`
}

function leavingOutOf({ leftOut, missingServices }: Selection): readonly string[] {
  if (leftOut.length === 0) return ['Leaves out no test that the change can reach']
  const seconds = leftOut.reduce((sum, test) => sum + test.seconds, 0)
  const services = missingServices.length === 0 ? [] : [listOf(missingServices)]
  return [
    `Leaves out ${filesOf(leftOut.length)} of ${Math.ceil(seconds)} s that the change can reach, the nearest first:`,
    ...leftOut.slice(0, MOST).map(lineOf),
    ...(leftOut.length > MOST ? [`    and ${leftOut.length - MOST} more`] : []),
    ...services.map((names) => `Services of tests left out that no test here starts: ${names}`),
    '`npm test` runs all tests.',
  ]
}

function filesOf(count: number): string {
  return count === 1 ? '1 test file' : `${count} test files`
}

function lineOf({ seconds, file }: ReachedTest): string {
  return `${seconds.toFixed(1).padStart(9)} s  ${file}`
}
