import { describe, expect, it } from 'vitest'
import { changedFiles, filesOfRepository, UnknownCommitError } from '../../run/changed/git.ts'
import { RepositoryFixture } from '../../run/changed/repository-fixture.ts'

const FILES = { 'a.ts': 'a', 'b.ts': 'b', 'c d.ts': 'c', '.gitignore': 'built/\n' }

describe('the changed files', () => {
  it('are none after a commit', () => {
    using repository = new RepositoryFixture(FILES)
    expect(changedFiles(repository.root, 'HEAD')).toEqual([])
  })

  it('are those changed, deleted, moved and not yet added, but none that git ignores', () => {
    using repository = new RepositoryFixture(FILES)
    repository.write('a.ts', 'A')
    repository.delete('b.ts')
    repository.git('mv', 'c d.ts', 'é.ts')
    repository.write('new/e.ts', 'e')
    repository.write('built/f.js', 'f')
    expect(changedFiles(repository.root, 'HEAD')).toEqual([
      'a.ts',
      'b.ts',
      'c d.ts',
      'new/e.ts',
      'é.ts',
    ])
  })

  it('are those of the commits since, too', () => {
    using repository = new RepositoryFixture(FILES)
    repository.write('a.ts', 'A')
    repository.commit()
    repository.write('b.ts', 'B')
    expect(changedFiles(repository.root, 'HEAD')).toEqual(['b.ts'])
    expect(changedFiles(repository.root, 'HEAD~1')).toEqual(['a.ts', 'b.ts'])
  })

  it('are refused since a commit that git does not know', () => {
    using repository = new RepositoryFixture(FILES)
    for (const commit of ['no-such-commit', 'HEAD~5', '--help', '']) {
      const changed = (): unknown => changedFiles(repository.root, commit)
      expect(changed).toThrow(UnknownCommitError)
      expect(changed).toThrow(`--changed ${commit}: git knows no such commit`)
    }
  })
})

it('the files of a repository are those that git does not ignore', () => {
  using repository = new RepositoryFixture(FILES)
  repository.write('new/e.ts', 'e')
  repository.write('built/f.js', 'f')
  expect(filesOfRepository(repository.root)).toEqual([
    '.gitignore',
    'a.ts',
    'b.ts',
    'c d.ts',
    'new/e.ts',
  ])
})
