import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { REPOSITORY } from '../system/cli/command-process.ts'
import { commandsOf, pageAt, reasonsOf } from '../system/docs/page-commands.ts'

/** The test that runs the commands of a page, by page. */
const RUN_BY: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    [
      'backup',
      'checkpoints',
      'damage',
      'erasure',
      'evaluation',
      'gateway',
      'install',
      'jobs',
      'load',
      'online-learning',
      'pipelines',
      'retraining',
      'security',
      'serving',
      'sizing',
      'svm',
      'training',
      'upgrade',
      'versions',
    ].map((name) => [`${name}.md`, 'test/system/docs/guide-sessions.test.ts']),
  ),
  'cluster.md': 'test/system/jobmanager/guide.test.ts',
  'from-flink.md': 'test/system/docs/kafka-pages.test.ts',
  'kafka.md': 'test/system/docs/kafka-pages.test.ts',
  'models-of-any-kind.md': 'test/system/inference/guide.test.ts',
  'models-from-python.md': 'test/system/inference/python/models-from-python.test.ts',
  'tutorial.md': 'test/system/jobmanager/guide.test.ts',
}

const GUIDE = readdirSync(join(REPOSITORY, 'docs/guide')).filter((name) => name.endsWith('.md'))
const PAGES = ['README.md', 'datasets/README.md', ...GUIDE.map((name) => `docs/guide/${name}`)]
const log = vi.spyOn(console, 'log')

describe('the command blocks of the guide and of the README pages', () => {
  beforeAll(() => {
    log.mockImplementation(() => {})
  })

  afterAll(() => log.mockRestore())

  it.each(PAGES)('%s: each runs in a test, or says why it is not run', (name) => {
    const isRun = Object.hasOwn(RUN_BY, name.replace('docs/guide/', ''))
    // Throws for commands that are neither a session nor a script.
    const commands = commandsOf(pageAt(name)).map(({ command }) => command)
    if (isRun) expect(commands).not.toEqual([])
    else expect(commands).toEqual([])
  })

  it.each(Object.entries(RUN_BY))('%s: %s runs its commands', (page, test) => {
    const source = readFileSync(join(REPOSITORY, test), 'utf8')
    expect(source).toContain(`'${page}'`)
    expect(source).toContain('commandsOf(')
  })

  it('name tests that exist where they are not run', () => {
    const reasons = PAGES.flatMap((name) => reasonsOf(pageAt(name)))
    const tests = reasons.flatMap((reason) => reason.match(/\btest\/[\w/.-]+/g) ?? [])
    expect(tests.length).toBeGreaterThan(10)
    expect(
      tests.filter((path) => !existsSync(join(REPOSITORY, path))).map((path) => basename(path)),
    ).toEqual([])
  })
})
