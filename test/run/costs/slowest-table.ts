import { WAITS } from '../waits.ts'
import type { FileCosts } from './file-costs.ts'

const HEADER = ['seconds', 'processor', ...WAITS, 'rest', 'file']

/**
 * A table of test files, slowest first. `rest` is the time beside the noted waits: where it is much more than
 * the processor seconds, a timeout passed or the machine was busy; else it is work.
 */
export function slowestTable(costs: Iterable<FileCosts>, count = Number.POSITIVE_INFINITY): string {
  const slowest = [...costs].sort((a, b) => b.seconds - a.seconds).slice(0, count)
  return [HEADER, ...slowest.map(cellsOf)].map(lineOf).join('\n')
}

function cellsOf({ file, seconds, processorSeconds, waits }: FileCosts): readonly string[] {
  const waited = WAITS.map((wait) => waits[wait])
  const rest = waited.reduce((left, one) => left - one, seconds)
  const numbers = [seconds, processorSeconds, ...waited, Math.max(0, rest)]
  return [...numbers.map((value) => value.toFixed(1)), file]
}

function lineOf(cells: readonly string[]): string {
  const file = cells.at(-1)!
  return [...cells.slice(0, -1).map((cell) => cell.padStart(9)), file].join('  ')
}
