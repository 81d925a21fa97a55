import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { circlesOf, graphOf } from './circles.ts'
import { filesOf, importedFiles } from './source-tree.ts'

const imports = filesOf('src', 'benchmarks', 'verify').flatMap((file) =>
  importedFiles(file).map((target) => [dirname(file), dirname(target)] as const),
)

/** The room at the top of `src` that a folder is in; '' for the entries of the package. */
const topOf = (folder: string): string => folder.split('/')[1] ?? ''

// The linter finds circles of files (`noImportCycles` in biome.json).
describe('imports between rooms, the folders that hold files', () => {
  it('run in no circle, type-only imports included', () => {
    expect(circlesOf(graphOf(imports))).toEqual([])
  })
})

describe('imports between the rooms at the top of src', () => {
  it('run in no circle', () => {
    const between = imports
      .filter(([from]) => from.startsWith('src/'))
      .map(([from, to]) => [topOf(from), topOf(to)] as const)
    expect(circlesOf(graphOf(between))).toEqual([])
  })
})

describe('the search for circles', () => {
  const found = (...edges: readonly string[]) =>
    circlesOf(graphOf(edges.map((edge) => [edge[0]!, edge[1]!] as const)))

  it('finds none in a graph without one', () => {
    expect(found('ab', 'bc', 'ac', 'dc', 'aa')).toEqual([])
  })

  it('finds each group of nodes that reach each other once', () => {
    expect(found('ab', 'bc', 'ca', 'cd', 'de', 'ed', 'ef')).toEqual([
      ['d', 'e'],
      ['a', 'b', 'c'],
    ])
  })
})
