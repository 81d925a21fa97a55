import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { distancesTo } from '../run/changed/distances.ts'
import { foldersOf, NARROWED, readGraph, UNNAMED } from '../run/changed/file-graph.ts'
import { filesOfRepository } from '../run/changed/git.ts'
import { BASIS, type ReachedTest, selectTests } from '../run/changed/select-tests.ts'
import { SERVICES, testsThatStart } from '../run/changed/services.ts'
import { needs } from '../run/needs.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const files = filesOfRepository(ROOT)
const graph = readGraph(ROOT, files)

const select = (...changed: readonly string[]): readonly ReachedTest[] =>
  selectTests({ graph, changed, costs: new Map() }).run
const filesFor = (...changed: readonly string[]): readonly string[] =>
  select(...changed).map(({ file }) => file)
const systemFor = (...changed: readonly string[]): readonly string[] =>
  filesFor(...changed).filter((file) => file.startsWith('test/system/'))

/** The sources of a package are in no git. */
const NEEDS_GIT = needs(files.length > 0, 'without git there is no list of files')

describe('`npm test -- --changed`: a change', NEEDS_GIT, () => {
  it('of the clock reaches its test at one step, and first', () => {
    expect(distancesTo(['src/core/clock.ts'], graph.edges).get('test/core/clock.test.ts')).toBe(1)
    const unit = select('src/core/clock.ts').filter(({ kind }) => kind === 'unit')
    expect(unit[0]!.file).toBe('test/core/clock.test.ts')
  })

  it('of the sink of Kafka first runs its test on a real Kafka', () => {
    expect(systemFor('src/connectors/kafka/sink.ts')[0]).toBe('test/system/kafka/sink.test.ts')
  })

  it('of a page of the guide runs the test with its commands, and no other session', () => {
    const selected = filesFor('docs/guide/kafka.md')
    expect(selected).toContain('test/system/docs/kafka-pages.test.ts')
    expect(selected).not.toContain('test/system/docs/guide-sessions.test.ts')
    expect(filesFor('docs/guide/serving.md')).toContain('test/system/docs/guide-sessions.test.ts')
  })

  it('of README.md runs the tests that read it', () => {
    expect(filesFor('README.md')).toEqual(
      expect.arrayContaining([
        'test/docs/commands.test.ts',
        'test/docs/guide-commands.test.ts',
        'test/docs/links.test.ts',
        'test/docs/paths.test.ts',
      ]),
    )
  })

  it('of the dashboard runs its unit tests and its pages in a browser', () => {
    const selected = filesFor('dashboard/src/format.ts')
    expect(selected).toContain('test/dashboard/format.test.ts')
    expect(selected).toContain('test/system/dashboard/pages.test.ts')
  })

  it('of a module that starts as a thread reaches the tests that start the thread', () => {
    expect(filesFor('src/training/als/solver/worker.ts')).toContain(
      'test/system/training/als-threads.test.ts',
    )
  })

  it('of a command reaches the tests that start `weir`, but farther than its unit tests', () => {
    const distances = distancesTo(['src/cli/verbs/completion.ts'], graph.edges)
    const near = distances.get('test/cli/command-loaders.test.ts')!
    expect(distances.get('test/system/cli/completion.test.ts')).toBeGreaterThan(near)
  })
})

describe('the tables of `npm test -- --changed` name what exists', NEEDS_GIT, () => {
  const places = [...new Set([...files, ...files.flatMap(foldersOf)])]
  const named = graph.edges.map(({ to }) => to)
  const exists = (beginning: string): boolean =>
    [...places.map((place) => `${place}/`), ...places, ...named].some((place) =>
      place.startsWith(beginning),
    )

  it('for each service: code that talks to it, and tests that start it', () => {
    const paths = SERVICES.flatMap(({ users, starts }) => [...users, ...starts])
    expect(paths.filter((path) => !exists(path))).toEqual([])
    const without = SERVICES.filter((service) => testsThatStart(service, graph.edges).size === 0)
    expect(without).toEqual([])
  })

  it('for what files need without naming it', () => {
    const paths = [...UNNAMED.flat(), ...Object.entries(NARROWED).flat()]
    expect(paths.filter((path) => !places.includes(path))).toEqual([])
  })

  it('for what every test depends on', () => {
    expect(BASIS.filter((pattern) => !files.some((file) => pattern.test(file)))).toEqual([])
  })
})
