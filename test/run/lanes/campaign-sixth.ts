import { LONG_FILES } from './special-files.ts'

/** Seeds that follow each other and have the same sixth: campaigns choose their cases by the remainder of small numbers. */
const SEEDS_OF_SIXTH = 64

/**
 * Whether the campaign of a test file is whole in a run of a sixth of them: with a sixth of the seeds it is. The long
 * files, of which neighbours take about the same time, take turns, so that all sixths take as long.
 */
export function isInSixth(file: string, seed: number): boolean {
  const place = LONG_FILES.indexOf(file)
  const turn = place === -1 ? [...file].reduce((sum, char) => sum + char.charCodeAt(0), 0) : place
  return (turn + Math.floor(seed / SEEDS_OF_SIXTH)) % 6 === 0
}
