import { expect, it } from 'vitest'
import { THREADS } from '../../scripts/build-package.ts'
import { packageEntries } from '../../scripts/package-entries.ts'
import { filesOf, importedFiles } from './source-tree.ts'

it('every module of src is imported, exported by the package or started by URL', () => {
  const used = new Set([
    ...filesOf('src', 'scripts').flatMap(importedFiles),
    ...packageEntries().map((module) => `src/${module}.ts`),
  ])
  expect(filesOf('src').filter((file) => !used.has(file))).toEqual([])
})

it('the first modules of threads, by which the build joins modules into files, are there', () => {
  const there = new Set(filesOf('src'))
  const named = Object.values(THREADS).flat()
  expect(named.filter((module) => !there.has(`src/${module}.ts`))).toEqual([])
})
