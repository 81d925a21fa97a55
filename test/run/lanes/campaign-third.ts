import { LONG_FILES } from './special-files.ts'

/** Seeds that follow each other and have the same third: campaigns choose their cases by the remainder of small numbers. */
const SEEDS_OF_THIRD = 64

/**
 * Whether the campaign of a test file is whole in a run of a third of them: with a third of the seeds it is. The long
 * files, of which neighbours take about the same time, take turns, so that all thirds take as long.
 */
export function isInThird(file: string, seed: number): boolean {
  const place = LONG_FILES.indexOf(file)
  const turn = place === -1 ? [...file].reduce((sum, char) => sum + char.charCodeAt(0), 0) : place
  return (turn + Math.floor(seed / SEEDS_OF_THIRD)) % 3 === 0
}
