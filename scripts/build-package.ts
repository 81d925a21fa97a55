/*
 * Builds the package: `node scripts/build-package.ts [FOLDER]`, by default into `dist/`. TypeScript checks and
 * compiles every module and writes the types. Then rolldown joins the modules into few files, because finding,
 * reading and linking two hundred modules takes most of a thread's start
 * (docs/decisions/recovery.md#start-up). Every module is in exactly one file, so a job's module gets the same
 * classes from `@weirjs/weir` as the threads that run it.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type OutputOptions, type Plugin, type RolldownBuild, rolldown } from 'rolldown'
import { writeBillOfMaterials } from './bill-of-materials.ts'
import { packageEntries } from './package-entries.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** The embedded log, which is loaded when a topic is opened. */
const LOG = ['connectors/topics/log-topics', 'connectors/log/embedded-log'] as const

/**
 * The first modules of each thread of a serving process. Modules that the same threads load go into one file.
 * `start` is the part of the main thread that starts the others.
 */
export const THREADS: Readonly<Record<string, readonly string[]>> = {
  start: ['cli/start-command-line', 'cli/verbs/run'],
  query: ['serving/threads/worker'],
  slot: [
    'runtime/slot/thread',
    'runtime/slot/pool/thread',
    'runtime/checkpoint/storage/file',
    ...LOG,
    'jobs/als-serving/job',
    'models/topic/svm-serving',
  ],
  main: ['jobs/serve/als', 'jobs/serve/svm', ...LOG],
}

/** Modules that make the thread that loads them a query or a slot thread: no other thread may load their file. */
const ALONE: ReadonlySet<string> = new Set([
  'serving/threads/worker',
  'runtime/slot/thread',
  'runtime/slot/pool/thread',
])

/** Types, and the source of WebAssembly. */
const NOT_JOINED = /\.(d|as)\.ts$/

/** Builds the package into a folder and replaces its content. Throws when the build fails. */
export async function buildPackage(folder: string): Promise<void> {
  const modules = mkdtempSync(join(tmpdir(), 'weir-build-'))
  try {
    compile('tsconfig.build.json', modules)
    rmSync(folder, { recursive: true, force: true })
    await bundle({ modules, folder, ending: '.js' })
    copyTypes(modules, folder)
    copyPrograms(folder)
    buildDashboard(join(folder, 'dashboard'))
    writeBillOfMaterials(join(folder, 'bom.cdx.json'))
  } finally {
    rmSync(modules, { recursive: true, force: true })
  }
}

/** Compiles what a configuration of TypeScript names into a folder, with its types. Throws when it has an error. */
export function compile(configuration: string, folder: string): void {
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
  const args = [compiler, '-p', configuration, '--outDir', folder]
  execFileSync(process.execPath, args, { cwd: ROOT, stdio: 'inherit' })
}

/** Copies the types of compiled modules. */
export function copyTypes(modules: string, folder: string): void {
  const isType = (path: string): boolean => statSync(path).isDirectory() || path.endsWith('.d.ts')
  cpSync(modules, folder, { recursive: true, filter: isType })
}

/** Copies the programs that are not TypeScript to where their modules look for them. */
export function copyPrograms(folder: string): void {
  for (const path of ['training/spark/train.py'])
    cpSync(join(ROOT, 'src', path), join(folder, path))
}

/** Builds the dashboard and copies it to where the REST server looks for it. */
function buildDashboard(folder: string): void {
  const script = join(ROOT, 'scripts/build-dashboard.js')
  execFileSync(process.execPath, [script], { cwd: ROOT, stdio: 'inherit' })
  cpSync(join(ROOT, 'dashboard/dist'), folder, { recursive: true })
}

/** What is joined. */
export interface BundleOptions {
  /** Folder of the modules: compiled ones, or source. */
  readonly modules: string
  readonly ending: '.js' | '.ts'
  /** Folder of the files that they are joined into. */
  readonly folder: string
  /** Modules without ending that keep their paths. @default those of the package */
  readonly entries?: readonly string[]
}

/** Joins modules into few files. Throws when one cannot be read. */
export async function bundle(options: BundleOptions): Promise<void> {
  const { build, output } = await joined(options)
  await build.write(output)
}

/**
 * Joins modules into the files of {@link bundle}, of which every module can be imported by its own path: what imports
 * the modules of the source gets the same classes from few files. Throws when one cannot be read.
 */
export async function bundleEachModule(options: BundleOptions): Promise<void> {
  const { build, output } = await joined(options)
  const files = (await build.generate(output)).output.filter((file) => file.type === 'chunk')
  const fileOf = new Map(
    files.flatMap(({ fileName, moduleIds }) => moduleIds.map((id) => [id, fileName])),
  )
  const { modules, ending } = options
  const entries = readdirSync(modules, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith(ending) && !NOT_JOINED.test(path))
    .map((path) => path.slice(0, -ending.length).split(sep).join('/'))
  const each = await joined({ ...options, entries }, 'allow-extension')
  await each.build.write({
    ...each.output,
    codeSplitting: {
      // Else a module takes those that it imports into its file.
      includeDependenciesRecursively: false,
      groups: [
        {
          debugName: 'same-files',
          name: (id) => fileOf.get(id)?.replace(/\.js$/, '').replaceAll('/', '-') ?? null,
        },
      ],
    },
  })
}

/** Modules as rolldown reads them, and how it joins them. */
async function joined(
  { modules, ending, folder, entries = packageEntries() }: BundleOptions,
  preserveEntrySignatures: 'exports-only' | 'allow-extension' = 'exports-only',
): Promise<{ readonly build: RolldownBuild; readonly output: OutputOptions }> {
  const graph = new ModuleGraph(modules, ending)
  const build = await rolldown({
    input: Object.fromEntries(entries.map((name) => [name, join(modules, `${name}${ending}`)])),
    platform: 'node',
    external: /^[^./]/,
    preserveEntrySignatures,
    // Without this, rolldown warns of every import() of a module in a shared file.
    checks: { ineffectiveDynamicImport: false },
    plugins: [graph.plugin(), keepPlaces(modules)],
  })
  const output: OutputOptions = {
    dir: folder,
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
    codeSplitting: {
      groups: sharings().map((name) => ({
        name,
        // Sets with more threads come first, so that their modules do not go into the file of a smaller set.
        priority: name.split('-').length,
        test: (id) => graph.sharing(id) === name,
      })),
    },
  }
  return { build, output }
}

/** Every set of threads that can share modules, as the name of their file, such as `query-slot`. */
function sharings(): string[] {
  const sets: string[] = []
  for (const thread of Object.keys(THREADS)) {
    sets.push(...sets.map((set) => `${set}-${thread}`), thread)
  }
  return sets
}

/** The static imports of all modules. */
class ModuleGraph {
  private readonly modules: string
  private readonly ending: string
  private readonly imports = new Map<string, readonly string[]>()
  private reached: ReadonlyMap<string, ReadonlySet<string>> | undefined

  constructor(modules: string, ending: string) {
    this.modules = modules
    this.ending = ending
  }

  /** A plugin that records the imports of each module. */
  plugin(): Plugin {
    return {
      name: 'module-graph',
      moduleParsed: ({ id, importedIds }) => {
        this.imports.set(id, importedIds)
      },
    }
  }

  /** The threads that load a module, as the name of their file; '' if there are none. Valid after all modules are read. */
  sharing(id: string): string {
    if (ALONE.has(relative(this.modules, id).replace(/\.[jt]s$/, ''))) return ''
    this.reached ??= new Map(
      Object.entries(THREADS).map(([thread, names]) => [thread, this.from(names)]),
    )
    const threads = [...this.reached].filter(([, ids]) => ids.has(id))
    return threads.map(([thread]) => thread).join('-')
  }

  private from(names: readonly string[]): Set<string> {
    const seen = new Set<string>()
    const visit = (id: string): void => {
      if (seen.has(id) || !this.imports.has(id)) return
      seen.add(id)
      for (const next of this.imports.get(id)!) visit(next)
    }
    for (const name of names) visit(join(this.modules, `${name}${this.ending}`))
    return seen
  }
}

/**
 * A plugin that keeps `import.meta.url` equal to the module's original path, although its code is in another
 * file, because modules use it to find other modules. `createRequire` works from any path.
 */
function keepPlaces(modules: string): Plugin {
  const mark = 'placeOfModule'
  return {
    name: 'keep-places',
    transform: (code, id) =>
      code.replace(
        /(?<!createRequire\()import\.meta\.url/g,
        `${mark}(${JSON.stringify(relative(modules, id).replace(/\.ts$/, '.js'))})`,
      ),
    renderChunk: (code, { fileName }) =>
      code.replace(new RegExp(`${mark}\\("([^"]+)"\\)`, 'g'), (_, place: string) => {
        const path = relative(dirname(fileName), place)
        return `new URL("${path.startsWith('.') ? path : `./${path}`}", import.meta.url).href`
      }),
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await buildPackage(resolve(process.argv[2] ?? join(ROOT, 'dist')))
}
