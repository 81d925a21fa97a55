import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { expect, it } from 'vitest'

const SRC = resolve(import.meta.dirname, '../../../src')
const LEARNING = join(SRC, 'jobs/learning')

const ENTRIES = ['index.ts', 'learning.ts', 'connectors/kafka/index.ts']

/** The files in src of which an entry exports everything. */
function exportedInFull(entry: string): string[] {
  const text = readFileSync(join(SRC, entry), 'utf8')
  return [...text.matchAll(/export (?:type )?\* from '\.\/([^']+)'/g)].map(([, path = '']) => path)
}

/** The names that a file imports from or exports of other files, `<file in src> <name>`. */
function namesIn(file: string, keyword: 'import' | 'export'): string[] {
  const text = readFileSync(file, 'utf8')
  const pattern = new RegExp(`${keyword}\\s(?:type\\s)?\\{([^}]*)\\}\\sfrom\\s'(\\.[^']+)'`, 'g')
  return [...text.matchAll(pattern)].flatMap(([, names = '', path = '']) => {
    const from = relative(SRC, resolve(dirname(file), path))
      .split(sep)
      .join('/')
    const each = names.split(',').map((name) => name.trim().replace(/^type /, ''))
    return each.filter((name) => name !== '').map((name) => `${from} ${name.split(' as ')[0]}`)
  })
}

it('a user can write the learners of ALS and linear models with what the package exports', () => {
  const exported = new Set(ENTRIES.flatMap((entry) => namesIn(join(SRC, entry), 'export')))
  const inFull = new Set(ENTRIES.flatMap(exportedInFull))
  const folders = [LEARNING, join(LEARNING, 'als'), join(LEARNING, 'linear')]
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { withFileTypes: true })
      // `resumeOffsetsOf` is exported as it is: a learner calls it, and writes none.
      .filter((entry) => entry.isFile() && entry.name !== 'version-offsets.ts')
      .map((entry) => join(folder, entry.name)),
  )
  // Checks of options are not needed to write a learner: they are the shapes of options, in capital letters.
  const imported = files
    .flatMap((file) => namesIn(file, 'import'))
    .filter((name) => !name.startsWith('core/options/') && !/ [A-Z_]+$/.test(name))
  const missing = imported.filter(
    (name) =>
      !name.startsWith('jobs/learning/') && !exported.has(name) && !inFull.has(name.split(' ')[0]!),
  )
  expect(imported.length).toBeGreaterThan(100)
  expect(missing).toEqual([])
})
