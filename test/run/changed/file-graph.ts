import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { linksOf, type Reference, referencesOf } from './references.ts'

/** A file or folder that another file needs. */
export interface Edge {
  readonly from: string
  readonly to: string
  /** How far a fault in `to` is from `from`: 1 for an import. */
  readonly steps: number
}

/** The files of the repository and what each needs. Paths are from the root, with slashes. */
export interface FileGraph {
  readonly files: ReadonlySet<string>
  readonly edges: readonly Edge[]
}

/** The entry of `weir`: a process that loads nearly all of `src`. */
const PROCESS = 'src/cli/main.ts'

const STEPS = { import: 1, file: 1, folder: 2, thread: 3, process: 8 } as const

/** What files need without naming it. */
export const UNNAMED: readonly (readonly [from: string, to: string])[] = [
  // Vite builds the page beside its configuration.
  ['dashboard/vite.config.ts', 'dashboard/index.html'],
  // The host of shared services starts them for the test files that borrow them.
  ['test/services/lending/browser.ts', 'test/services/lending/browser-pool.ts'],
  ['test/services/lending/hdfs.ts', 'test/services/lending/hdfs-pool.ts'],
  ['test/services/lending/kafka.ts', 'test/services/lending/kafka-pool.ts'],
]

/** Folders of which a file reads only what its callers name. */
export const NARROWED: Readonly<Record<string, string>> = {
  'test/system/docs/page-commands.ts': 'docs/guide',
}

/** Where a page lies that a test names without its folder. */
const GUIDE = 'docs/guide'

/** Where paths are what the selection knows and its tests invent, and not what a file needs. */
const PATHS_AS_DATA = /^test\/(?:run\/changed|architecture\/changed-tests)/

const SOURCE = /\.(?:[cm]?[jt]s|tsx|html)$/

/** Reads the files into a graph. A file that does not exist needs nothing. */
export function readGraph(root: string, files: readonly string[]): FileGraph {
  const texts = files.flatMap((file) => {
    const text = SOURCE.test(file) || file.endsWith('.md') ? textOf(join(root, file)) : ''
    return text === undefined ? [] : [[file, text] as const]
  })
  return graphOf(texts)
}

/** The graph of files with these texts. */
export function graphOf(texts: Iterable<readonly [file: string, text: string]>): FileGraph {
  const all = [...texts]
  const files = new Set(all.map(([file]) => file))
  const places = new Set([...files, ...[...files].flatMap(foldersOf)])
  const named = all.flatMap(([file, text]) => edgesOf(file, text, places))
  const unnamed = UNNAMED.map(([from, to]) => ({ from, to, steps: STEPS.file }))
  return { files, edges: [...named, ...unnamed] }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function edgesOf(file: string, text: string, places: ReadonlySet<string>): readonly Edge[] {
  if (file.endsWith('.md')) return brokenLinks(file, text, places)
  // A path in a page of the browser begins at the folder of the page.
  const relative = file.endsWith('.html') ? text.replaceAll('"/', '"./') : text
  return referencesOf(relative).flatMap((reference) => {
    if (PATHS_AS_DATA.test(file) && !reference.isImport) return []
    const to = placeOf(reference, file, places)
    // A folder that a file lies in is where its paths begin, not what it reads.
    if (to === undefined || `${file}/`.startsWith(`${to}/`) || to === NARROWED[file]) return []
    return [{ from: file, to, steps: stepsTo(to, reference) }]
  })
}

/** A page needs no file that it names, but the file must be there. */
function brokenLinks(page: string, text: string, places: ReadonlySet<string>): readonly Edge[] {
  return linksOf(text)
    .map(({ path }) => (path.startsWith('.') ? posix.join(posix.dirname(page), path) : path))
    .filter((path) => !places.has(path.replace(/\/$/, '')))
    .map((to) => ({ from: page, to, steps: STEPS.file }))
}

/** The file or folder that a reference means. A module that is imported or has a relative path may be missing. */
function placeOf(
  { path, isImport }: Reference,
  file: string,
  places: ReadonlySet<string>,
): string | undefined {
  if (isImport && !path.startsWith('.')) return packageOf(path)
  if (path.startsWith('/')) return undefined
  const [first, ...others] = candidates(path, file)
  const place = [first!, ...others].find((candidate) => places.has(candidate))
  if (place !== undefined) return place === 'test' ? undefined : place
  return path.startsWith('.') && /\.\w+$/.test(path) ? first : undefined
}

/** Where a path may lead, in order. `siblingModule` gets paths without an extension. */
function candidates(path: string, file: string): readonly string[] {
  const here = posix.join(posix.dirname(file), path).replace(/\/$/, '')
  const fromRoot = posix.join(path).replace(/\/$/, '')
  const page = path.endsWith('.md') ? [posix.join(GUIDE, path)] : []
  // A lone word is a folder of the root, or a file beside.
  return path.startsWith('.')
    ? [here, `${here}.ts`, fromRoot]
    : [...(/[./]/.test(path) ? [here] : []), fromRoot, ...page]
}

/** The folder of a package; undefined for a module of Node.js. */
function packageOf(name: string): string | undefined {
  if (name.startsWith('node:')) return undefined
  const words = name.split('/').slice(0, name.startsWith('@') ? 2 : 1)
  return `node_modules/${words.join('/')}`
}

function stepsTo(to: string, { isImport }: Reference): number {
  if (isImport) return STEPS.import
  if (to === PROCESS || to === 'src') return STEPS.process
  const isFile = /\.\w+$/.test(to)
  if (to.startsWith('src/')) return isFile ? STEPS.thread : STEPS.process
  return isFile ? STEPS.file : STEPS.folder
}

/** The folders above a file, the nearest first, without the root. */
export function foldersOf(path: string): readonly string[] {
  const names = path.split('/')
  return names.slice(1).map((_, i) => names.slice(0, names.length - 1 - i).join('/'))
}
