import { existsSync } from 'node:fs'

/**
 * The URL of a file of the data sets beside the repository, in `../shared/data`. A checkout may
 * lack them: where the file is missing, says so and returns undefined.
 */
export function sharedData(path: string, say: (line: string) => void): URL | undefined {
  const url = new URL(`../../../shared/data/${path}`, import.meta.url)
  if (existsSync(url)) return url
  say(`../shared/data/${path} does not exist: this benchmark measures nothing`)
  return undefined
}
