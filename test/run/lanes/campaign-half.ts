import { LONG_FILES } from './special-files.ts'

/**
 * Whether the campaign of a test file is whole in a run of half of them: with each second seed it is. The long files, of
 * which neighbours take about the same time, take turns, so that both halves take as long.
 */
export function isInHalf(file: string, seed: number): boolean {
  const place = LONG_FILES.indexOf(file)
  const turn = place === -1 ? [...file].reduce((sum, char) => sum + char.charCodeAt(0), 0) : place
  return (turn + seed) % 2 === 0
}
