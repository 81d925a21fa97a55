import { expect, it } from 'vitest'
import { THREADS } from '../../scripts/build-package.ts'
import { packageEntries } from '../../scripts/package-entries.ts'
import { filesOf, importedFiles } from './source-tree.ts'

/** Modules that are done and tested before their user is, with what will use them. */
const AWAITED: Readonly<Record<string, string>> = {
  'src/inference/off-policy/always-valid.ts': 'the report of an experiment',
  'src/inference/off-policy/estimators.ts': 'the judgement of a candidate by the decision log',
  'src/inference/selectors/load-selector.ts': "pipelines with a user's own selector",
  'src/connectors/kafka/group/kafka-commits.ts': 'a checkpoint as one transaction of a group',
}

it('every module of src is imported, exported by the package or started by URL', () => {
  const used = new Set([
    ...filesOf('src', 'scripts').flatMap(importedFiles),
    ...packageEntries().map((module) => `src/${module}.ts`),
  ])
  expect(filesOf('src').filter((file) => !used.has(file))).toEqual(Object.keys(AWAITED))
})

it('the first modules of threads, by which the build joins modules into files, are there', () => {
  const there = new Set(filesOf('src'))
  const named = Object.values(THREADS).flat()
  expect(named.filter((module) => !there.has(`src/${module}.ts`))).toEqual([])
})
