import { parseArgs } from 'node:util'
import { systemClock } from '../../src/core/clock.ts'
import { stressRowTable } from './row-table-stress/stress.ts'

/*
 * The long form of the row table's stress test:
 *   npx node benchmarks/state/row-table-stress.ts --reads 1e9 [--readers 2] [--seed 1]
 * Prints reads and violations; a violation is a failure.
 */
const { values } = parseArgs({
  options: {
    reads: { type: 'string', default: '1e9' },
    readers: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
  },
})
let nextReport = 0
const result = await stressRowTable({
  reads: Number(values.reads),
  limitMs: Number.MAX_SAFE_INTEGER,
  readers: Number(values.readers),
  seed: Number(values.seed),
  clock: systemClock,
  progress(reads, violations) {
    if (reads < nextReport) return
    nextReport = reads + Number(values.reads) / 20
    console.error(`${(reads / 1e6).toFixed(0)} million reads, ${violations} violations`)
  },
})
console.log(JSON.stringify({ name: 'row-table-stress', ...result, seed: Number(values.seed) }))
if (result.violations > 0) process.exitCode = 1
