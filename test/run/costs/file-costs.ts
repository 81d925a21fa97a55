import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { WaitSeconds } from '../waits.ts'

/** Name of the variable with the file to which each test file appends its costs. */
export const COSTS_VARIABLE = 'TEST_FILE_COSTS'

/** Costs of one test file in one run. */
export interface FileCosts {
  /** Path from the root of the repository. */
  readonly file: string
  /** From the load of the file to the end of its last hook. */
  readonly seconds: number
  /**
   * Of all threads, and of the processes that the file started and that have ended; not of jobs under a JobManager, nor
   * of the services that files share: Kafka, HDFS, S3, the browser.
   */
  readonly processorSeconds: number
  readonly waits: WaitSeconds
}

/** Appends the costs of a file, one line of JSON. */
export function appendCosts(path: string, costs: FileCosts): void {
  appendFileSync(path, `${JSON.stringify(costs)}\n`)
}

/** The costs in a file, the last of each test file; none without the file. */
export function readCosts(path: string): ReadonlyMap<string, FileCosts> {
  if (!existsSync(path)) return new Map()
  const lines = readFileSync(path, 'utf8').split('\n')
  const costs = lines.filter((line) => line !== '').map((line) => JSON.parse(line) as FileCosts)
  return new Map(costs.map((one) => [one.file, one]))
}

/** Adds the costs in one file to those in another, where they replace older ones, and removes the first. */
export function mergeCosts(from: string, into: string): void {
  const merged = new Map([...readCosts(into), ...readCosts(from)])
  const lines = [...merged.values()].map((costs) => `${JSON.stringify(costs)}\n`)
  writeFileSync(into, lines.join(''))
  rmSync(from, { force: true })
}
