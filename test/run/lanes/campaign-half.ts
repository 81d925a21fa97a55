import { LONG_FILES } from './special-files.ts'

/** Seeds that follow each other and have the same half: campaigns choose their cases by the remainder of small numbers. */
const SEEDS_OF_HALF = 64

/**
 * Whether the campaign of a test file is whole in a run of half of them: with half of the seeds it is. The long files, of
 * which neighbours take about the same time, take turns, so that both halves take as long.
 */
export function isInHalf(file: string, seed: number): boolean {
  const place = LONG_FILES.indexOf(file)
  const turn = place === -1 ? [...file].reduce((sum, char) => sum + char.charCodeAt(0), 0) : place
  return (turn + Math.floor(seed / SEEDS_OF_HALF)) % 2 === 0
}
