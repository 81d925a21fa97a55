import { readFileSync } from 'node:fs'

/** The version in the package file, which is three folders above this file, both as source and as built. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
