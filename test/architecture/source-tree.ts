import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'

const ROOT = resolve(import.meta.dirname, '../..')

const fromRoot = (path: string): string => relative(ROOT, path).split(sep).join('/')

/** The paths, from the root of the repository, of the TypeScript files under these folders. */
export function filesOf(...folders: readonly string[]): readonly string[] {
  return folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
      .map((entry) => fromRoot(join(entry.parentPath, entry.name)))
      .filter((file) => !file.includes('/assembly/')),
  )
}

/** The text of a file. */
export const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

/** The modules that a file imports, as it names them. Type-only imports count. */
export function importsOf(file: string): readonly string[] {
  const found = textOf(file).matchAll(
    /(?:^|\n)\s*(?:import|export)\s[^'"`;]*?from\s+['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]|(?:^|\n)import\s+['"]([^'"]+)['"]/g,
  )
  return [...found].map((match) => match[1] ?? match[2] ?? match[3] ?? '')
}

/** The files of `src` that are loaded with these files, themselves included: without what `import()` loads later. */
export function loadedWith(...files: readonly string[]): readonly string[] {
  const loaded = new Set(files)
  for (const file of loaded) {
    const found = textOf(file).matchAll(
      /(?:^|\n)(?:import|export)\s(?!type\s)[^'"`;]*?from\s+'(\.[^']+)'|(?:^|\n)import\s+'(\.[^']+)'/g,
    )
    for (const [, from, alone] of found) {
      loaded.add(fromRoot(resolve(ROOT, dirname(file), from ?? alone ?? '')))
    }
  }
  return [...loaded]
}

/** The files of the repository that a file imports. */
export function importedFiles(file: string): readonly string[] {
  return importsOf(file)
    .filter((name) => name.startsWith('.'))
    .map((name) => fromRoot(resolve(ROOT, dirname(file), name)))
}
