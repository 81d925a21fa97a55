import { expect, it } from 'vitest'
import { packageEntries } from '../../scripts/package-entries.ts'
import { filesOf, importedFiles } from './source-tree.ts'

it('every module of src is imported, exported by the package or started by URL', () => {
  const used = new Set([
    ...filesOf('src', 'scripts').flatMap(importedFiles),
    ...packageEntries().map((module) => `src/${module}.ts`),
  ])
  expect(filesOf('src').filter((file) => !used.has(file))).toEqual([])
})
