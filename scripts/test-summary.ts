import { readFileSync } from 'node:fs'

/** Prints the counts of a vitest JSON report as the plain line "N passed, N failed, N skipped". */
const report = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as {
  numPassedTests: number
  numFailedTests: number
  numPendingTests: number
}
console.log(
  `${report.numPassedTests} passed, ${report.numFailedTests} failed, ${report.numPendingTests} skipped`,
)
