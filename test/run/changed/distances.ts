import { type Edge, foldersOf } from './file-graph.ts'

/** Whether a path is a test file. No file needs the code of one. */
export const isTestFile = (path: string): boolean => path.endsWith('.test.ts')

/**
 * The steps from each file and folder that needs one of `targets`, by the shortest way: Dijkstra's algorithm on
 * the edges turned around. A folder is as near as the nearest file below it.
 */
export function distancesTo(
  targets: Iterable<string>,
  edges: readonly Edge[],
): ReadonlyMap<string, number> {
  const needing = Map.groupBy(edges, ({ to }) => to)
  const distances = new Map<string, number>()
  const waiting: string[][] = [[...targets]]
  const wait = (place: string, steps: number): void => {
    waiting[steps] ??= []
    waiting[steps].push(place)
  }
  for (let steps = 0; steps < waiting.length; steps++) {
    for (const place of waiting[steps] ?? []) {
      if (distances.has(place)) continue
      distances.set(place, steps)
      if (steps > 0 && isTestFile(place)) continue
      for (const folder of foldersOf(place)) wait(folder, steps)
      for (const edge of needing.get(place) ?? []) wait(edge.from, steps + edge.steps)
    }
  }
  return distances
}
