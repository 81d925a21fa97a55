import { describe, expect, it } from 'vitest'
import { graphOf } from './file-graph.ts'

/** The edges of one file, as `steps to`. Other files are empty. */
function edges(file: string, text: string, others: readonly string[]): readonly string[] {
  const texts = [[file, text] as const, ...others.map((other) => [other, ''] as const)]
  const own = graphOf(texts).edges.filter(({ from }) => from === file)
  return own.map(({ to, steps }) => `${steps} ${to}`)
}

describe('the edges of a file', () => {
  it('lead to the modules that it imports', () => {
    const text = "import { b } from './b.ts'\nimport { c } from '../c.ts'"
    expect(edges('src/a/a.ts', text, ['src/a/b.ts', 'src/c.ts'])).toEqual([
      '1 src/a/b.ts',
      '1 src/c.ts',
    ])
  })

  it('lead to a module that was deleted', () => {
    expect(edges('src/a.ts', "import { b } from './b.ts'", [])).toEqual(['1 src/b.ts'])
  })

  it('lead to packages, and not to modules of Node.js', () => {
    const text = "import 'node:fs'\nimport '@platformatic/kafka/x'\nimport 'vitest/node'"
    expect(edges('src/a.ts', text, [])).toEqual([
      '1 node_modules/@platformatic/kafka',
      '1 node_modules/vitest',
    ])
  })

  it('lead to a module that starts as a thread, which is farther', () => {
    const text = "siblingModule('./thread', import.meta.url)"
    expect(edges('src/a.ts', text, ['src/thread.ts'])).toEqual(['3 src/thread.ts'])
  })

  it('lead to the command line that starts as a process, which is farthest', () => {
    const text = "resolve(REPOSITORY, 'src/cli/main.ts')"
    expect(new Set(edges('test/a.ts', text, ['src/cli/main.ts']))).toEqual(
      new Set(['8 src/cli/main.ts']),
    )
  })

  it('lead to files of tests beside it and from the root', () => {
    const text = "new URL('x.process.ts', here); read('docs/a.md'); join(ROOT, 'README.md')"
    const others = ['test/x.process.ts', 'docs/a.md', 'README.md']
    expect(edges('test/a.ts', text, others)).toEqual(
      expect.arrayContaining(['1 test/x.process.ts', '1 docs/a.md', '1 README.md']),
    )
  })

  it('lead to folders', () => {
    const text = "join(ROOT, 'docs'); read(`../docs/guide/$" + '{name}`)'
    expect(edges('test/a.ts', text, ['docs/guide/a.md'])).toEqual(['2 docs/guide', '2 docs'])
  })

  it('do not lead to the folder that the file lies in, where its paths begin', () => {
    expect(edges('verify/jobs/a.ts', "join(import.meta.dirname, '..', '..')", [])).toEqual([])
    expect(edges('verify/jobs/a.ts', "join(ROOT, 'verify')", [])).toEqual([])
  })

  it('lead to pages of the guide that a test names without their folder', () => {
    expect(edges('test/a.test.ts', "guidePage('b.md')", ['docs/guide/b.md'])).toEqual([
      '1 docs/guide/b.md',
    ])
  })

  it('lead nowhere from paths in the selection itself', () => {
    const text = "const PROCESS = 'src/cli/main.ts'"
    expect(edges('test/run/changed/a.ts', text, ['src/cli/main.ts'])).toEqual([])
  })

  it('lead nowhere from strings that are no paths of the repository', () => {
    expect(edges('src/a.ts', "f('text/plain', '/jobs/overview', 'a.b')", ['src/b.ts'])).toEqual([])
  })

  it('lead from a page of the browser to its scripts', () => {
    const text = '<script type="module" src="/src/main.tsx"></script>'
    expect(edges('dashboard/index.html', text, ['dashboard/src/main.tsx'])).toEqual([
      '1 dashboard/src/main.tsx',
    ])
  })

  it('lead from a page of the documentation only to files that are missing', () => {
    const text = 'see [b](b.md), [c](c.md) and `src/d.ts`'
    expect(edges('docs/a.md', text, ['docs/b.md'])).toEqual(['1 docs/c.md', '1 src/d.ts'])
  })
})

describe('the files of a graph', () => {
  it('are those with a text', () => {
    expect([...graphOf([['a.ts', "import './b.ts'"]]).files]).toEqual(['a.ts'])
  })
})
