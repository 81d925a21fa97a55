import { expect, it } from 'vitest'
import { RepositoryFixture } from '../../run/changed/repository-fixture.ts'
import { changedTests } from '../../run/changed-tests.ts'

const FILES = {
  'src/a.ts': 'export const a = 1\n',
  'src/b.ts': 'export const b = 1\n',
  'test/a.test.ts': "import { a } from '../src/a.ts'\n",
  'test/system/b.test.ts': "import { b } from '../../src/b.ts'\n",
}

const NO_WAITS = { server: 0, pause: 0, condition: 0 }

it('a change runs the tests that reach it, with the seconds of their last run', () => {
  using repository = new RepositoryFixture(FILES)
  repository.write('src/b.ts', 'export const b = 2\n')
  const file = 'test/system/b.test.ts'
  const costs = { file, seconds: 7, processorSeconds: 7, waits: NO_WAITS }
  expect(changedTests(repository.root, 'HEAD', new Map([[file, costs]]))).toEqual({
    files: [file],
    text: `Changed since HEAD: src/b.ts
Runs 1 test file, about 7 s: 0 architecture, 0 unit, 1 system
Leaves out no test that the change can reach`,
  })
})

it('a module that is deleted runs the tests that still import it', () => {
  using repository = new RepositoryFixture(FILES)
  repository.delete('src/a.ts')
  expect(changedTests(repository.root, 'HEAD', new Map()).files).toEqual(['test/a.test.ts'])
})

it('a test that is not yet added runs', () => {
  using repository = new RepositoryFixture(FILES)
  repository.write('test/new.test.ts', '')
  expect(changedTests(repository.root, 'HEAD', new Map()).files).toEqual(['test/new.test.ts'])
})

it('nothing runs without a change', () => {
  using repository = new RepositoryFixture(FILES)
  expect(changedTests(repository.root, 'HEAD', new Map())).toEqual({
    files: [],
    text: 'Nothing has changed since HEAD: no test runs.',
  })
})

it('a commit that does not exist is refused', () => {
  using repository = new RepositoryFixture(FILES)
  expect(() => changedTests(repository.root, 'nothing', new Map())).toThrow(
    '--changed nothing: git knows no such commit',
  )
})
