import { readFileSync } from 'node:fs'

/** A test file of a vitest JSON report. */
interface FileResult {
  readonly name: string
  readonly status: 'passed' | 'failed'
  readonly assertionResults: readonly { readonly status: string }[]
}

/**
 * Reads vitest JSON reports, a later one about files that ran again. `--failed` prints the files that failed in
 * the last report, one a line. Otherwise it prints the files that passed the second time only, and last
 * the plain line "N passed, N failed, N skipped".
 */
const paths = process.argv.slice(2).filter((argument) => argument !== '--failed')
const reports = paths.map(
  (path) => (JSON.parse(readFileSync(path, 'utf8')) as { testResults: FileResult[] }).testResults,
)
const last = new Map(reports.flat().map((file) => [file.name, file]))

if (process.argv.includes('--failed')) {
  for (const { name, status } of reports.at(-1) ?? []) if (status === 'failed') console.log(name)
} else {
  for (const { name, status } of reports.flat()) {
    if (status === 'failed' && last.get(name)!.status === 'passed') {
      console.log(
        `UNSTABLE: ${name} failed among the others and passed alone; that is a defect: fix it`,
      )
    }
  }
  const files = [...last.values()]
  const results = files.flatMap((file) => file.assertionResults.map((result) => result.status))
  const count = (...statuses: string[]) => results.filter((one) => statuses.includes(one)).length
  // A file whose set-up failed has no result of its own.
  const broken = files.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && !assertionResults.some((result) => result.status === 'failed'),
  ).length
  const failed = count('failed') + broken
  const skipped = count('pending', 'skipped', 'todo', 'disabled')
  console.log(`${count('passed')} passed, ${failed} failed, ${skipped} skipped`)
}
