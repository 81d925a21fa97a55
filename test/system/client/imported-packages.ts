import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Packages that the built files of a folder import or require by name. */
export function importedPackages(dist: string): Set<string> {
  const names = new Set<string>()
  for (const file of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.js')) continue
    const text = readFileSync(join(dist, file), 'utf8')
    const found = text.matchAll(
      /(?: from |import |import\(|require(?:\$\d+)?(?:\.resolve|\([^)]*\))?\()["']([@a-z][^"':]*)["']/gi,
    )
    for (const [, name] of found) {
      names.add(name!.split('/', name!.startsWith('@') ? 2 : 1).join('/'))
    }
  }
  return names
}
