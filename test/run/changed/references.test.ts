import { describe, expect, it } from 'vitest'
import { linksOf, referencesOf } from './references.ts'

const pathsIn = (text: string): readonly string[] => referencesOf(text).map(({ path }) => path)
const importsIn = (text: string): readonly string[] =>
  referencesOf(text)
    .filter(({ isImport }) => isImport)
    .map(({ path }) => path)

describe('the references of a source file', () => {
  it('are its imports and exports, those of types and packages too', () => {
    const text = `import { a } from './a.ts'
import type { B } from "../b.ts"
export * from './c.ts'
import './d.ts'
export {
  e,
} from './e.ts'
import { it } from 'vitest'`
    expect(importsIn(text)).toEqual(['./a.ts', '../b.ts', './c.ts', './d.ts', './e.ts', 'vitest'])
  })

  it('are what import() loads later, also on the next line', () => {
    expect(importsIn("await import('./a.ts'); import(\n  './b.ts')")).toEqual(['./a.ts', './b.ts'])
  })

  it('are strings with a dot or a slash, and no imports', () => {
    const text = "siblingModule('./thread'); new URL(`../x.ts`, here); 'docs/guide'; 'LICENSE'"
    expect(pathsIn(text)).toEqual(['./thread', '../x.ts', 'docs/guide', 'LICENSE'])
    expect(importsIn(text)).toEqual([])
  })

  it('are no words, extensions and sentences', () => {
    expect(pathsIn("f('docs', '.ts', 'reads src/a.ts', '')")).toEqual([])
  })

  it('are the folder before the first expression of a template', () => {
    const templates = ['../docs/guide/NAME.md', 'a-NAME', 'part/of-NAME']
    const text = templates.map((one) => `\`${one.replace('NAME', '$' + '{name}')}\``).join(', ')
    expect(pathsIn(text)).toEqual(['../docs/guide/', 'part/'])
  })

  it('are names that join puts together', () => {
    expect(pathsIn("join('verify', 'jobs', 'process.ts')")).toContain('verify/jobs/process.ts')
    expect(pathsIn("join(ROOT, 'docs', folder)")).toEqual(['docs'])
    expect(pathsIn("resolve(\n  REPOSITORY,\n  'monitoring'\n)")).toEqual(['monitoring'])
  })

  it('are relative to the file where its folder is joined', () => {
    expect(pathsIn("join(import.meta.dirname, 'kafka')")).toEqual(['./kafka'])
    expect(pathsIn("join(import.meta.dirname, '..', '..', 'src', 'main.ts')")).toContain(
      '../../src/main.ts',
    )
  })

  it('are no names below folders that are made in the test', () => {
    expect(pathsIn("join(folder, 'docs'); join(this.folder, 'verify')")).toEqual([])
  })

  it('are each of the folders whose files are listed', () => {
    expect(pathsIn("filesOf('src', 'test')")).toEqual(['src', 'test'])
    expect(pathsIn("...below('docs'), ...below('datasets')")).toEqual(['docs', 'datasets'])
  })

  it('are not in comments', () => {
    const text =
      "/** Like './a.ts'.\n * And `docs/x.md`. */\n  // from './b.ts'\nconst c = './c.ts'"
    expect(pathsIn(text)).toEqual(['./c.ts'])
  })

  it('are found after a string that looks like the begin of a comment', () => {
    expect(pathsIn("const all = 'test/**'\nconst c = './c.ts'")).toEqual(['./c.ts'])
  })
})

describe('the links of a page', () => {
  const linked = (page: string): readonly string[] => linksOf(page).map(({ path }) => path)

  it('are relative to the page, without fragments', () => {
    expect(linked('[a](b.md) [c](../d.md#e) [f](#g)')).toEqual(['./b.md', '../d.md'])
  })

  it('are no addresses of the web', () => {
    expect(linked('[a](https://example.org/b.md)')).toEqual([])
  })

  it('are paths of code in backticks', () => {
    expect(linked('see `test/core/clock.test.ts` and `x/y.ts`')).toEqual([
      'test/core/clock.test.ts',
    ])
  })
})
