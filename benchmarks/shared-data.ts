import { existsSync } from 'node:fs'

/**
 * A file of the data sets beside the repository (`../shared/data`), which may not be part of it;
 * undefined, and a sentence, where it is missing.
 */
export function sharedData(path: string, say: (line: string) => void): URL | undefined {
  const url = new URL(`../../shared/data/${path}`, import.meta.url)
  if (existsSync(url)) return url
  say(`../shared/data/${path} is not beside the repository: nothing is measured`)
  return undefined
}
