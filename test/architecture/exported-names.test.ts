import { expect, it } from 'vitest'
import { exportedNames } from '../../scripts/api-reference.ts'
import { textOf } from './source-tree.ts'

const LIST = 'test/architecture/exported-names.txt'

/** The names of the list, by entry: a line `# <entry>`, then a name a line. */
const listed = new Map(
  textOf(LIST)
    .split(/^# /m)
    .slice(1)
    .map((section) => section.trim().split('\n'))
    .map(([entry, ...names]) => [entry!, names]),
)

const { exports } = JSON.parse(textOf('package.json')) as {
  readonly exports: Readonly<Record<string, { readonly default: string }>>
}
const entries = Object.values(exports).map((entry) =>
  entry.default.replace('./dist/', '').replace(/\.js$/, '.ts'),
)

it('the list has the entries of the package', () => {
  expect([...listed.keys()].sort()).toEqual([...entries].sort())
})

it.each(entries)('%s exports the names of the list, which a program writes', (entry) => {
  const advice = `${LIST}: add what a program writes; what left needs a line in docs/guide/upgrade.md`
  expect(exportedNames(entry), advice).toEqual(listed.get(entry))
})
