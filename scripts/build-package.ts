/**
 * Builds the package: `node scripts/build-package.ts [FOLDER]`, by default into `dist/`. TypeScript
 * checks and translates every module and writes the types; rolldown then puts the modules together
 * into few files, because a thread spends most of its start on finding, reading and linking two
 * hundred of them (docs/decisions/0007-recovery.md). Every module is in exactly one file, so a job's
 * own module gets the same classes from `weir` as the threads that run it.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Plugin, rolldown } from 'rolldown'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Modules that keep their place: what package.json names, and what is started by its URL. */
const ENTRIES: readonly string[] = [
  'index',
  'client/index',
  'connectors/kafka/index',
  'testing/index',
  'cli/main',
  'runtime/slot-thread',
  'serving/query-worker',
  'state/leveldb-store-thread',
  'training/als-worker',
  'training/linear-worker',
  'training/gpu-als-worker',
  'jobs/als-serving',
  'jobs/svm-serving',
  'jobs/online-als',
  'jobs/online-svm',
  'jobs/retrain-child',
]

/** The embedded log, which is loaded when a topic is opened. */
const LOG = ['connectors/log/log-topics', 'connectors/log/embedded-log'] as const

/**
 * What the threads of a serving process load, by the modules they begin with: those that the same
 * threads need are one file. `start` is what the main thread needs to start the others.
 */
const THREADS: Readonly<Record<string, readonly string[]>> = {
  start: ['cli/start-command-line', 'cli/run'],
  query: ['serving/query-thread'],
  slot: [
    'runtime/slot-agent',
    'runtime/load-storage',
    'checkpoint/file-checkpoint-storage',
    ...LOG,
    'jobs/als-serving',
    'jobs/svm-serving',
  ],
  main: ['cli/serve-als', 'cli/serve-svm', ...LOG],
}

/** Builds into the folder, whose modules and types are replaced. Throws when something does not build. */
export async function buildPackage(folder: string): Promise<void> {
  const modules = mkdtempSync(join(tmpdir(), 'weir-build-'))
  try {
    const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
    const args = [compiler, '-p', 'tsconfig.build.json', '--outDir', modules]
    execFileSync(process.execPath, args, { cwd: ROOT, stdio: 'inherit' })
    rmSync(folder, { recursive: true, force: true })
    await bundle(modules, folder)
    const isType = (path: string): boolean => statSync(path).isDirectory() || path.endsWith('.d.ts')
    cpSync(modules, folder, { recursive: true, filter: isType })
  } finally {
    rmSync(modules, { recursive: true, force: true })
  }
}

async function bundle(modules: string, folder: string): Promise<void> {
  const graph = new ModuleGraph(modules)
  const build = await rolldown({
    input: Object.fromEntries(ENTRIES.map((name) => [name, join(modules, `${name}.js`)])),
    platform: 'node',
    external: /^[^./]/,
    // It would warn of every import() of a module that is in a shared file.
    checks: { ineffectiveDynamicImport: false },
    plugins: [graph.plugin(), keepPlaces(modules)],
  })
  await build.write({
    dir: folder,
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
    codeSplitting: {
      groups: sharings().map((name) => ({
        name,
        // More sharers first: what they need is then not taken along by those who need it, too.
        priority: name.split('-').length,
        test: (id) => graph.sharing(id) === name,
      })),
    },
  })
}

/** Every set of threads that may share a module, as its file is named: `query-slot`. */
function sharings(): string[] {
  const sets: string[] = []
  for (const thread of Object.keys(THREADS)) {
    sets.push(...sets.map((set) => `${set}-${thread}`), thread)
  }
  return sets
}

/** Which module imports which, statically. */
class ModuleGraph {
  private readonly modules: string
  private readonly imports = new Map<string, readonly string[]>()
  private reached: ReadonlyMap<string, ReadonlySet<string>> | undefined

  constructor(modules: string) {
    this.modules = modules
  }

  /** Notes the modules as they are read. */
  plugin(): Plugin {
    return {
      name: 'module-graph',
      moduleParsed: ({ id, importedIds }) => {
        this.imports.set(id, importedIds)
      },
    }
  }

  /** Name of the threads that load the module, '' if none does; asked when all modules are read. */
  sharing(id: string): string {
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
    for (const name of names) visit(join(this.modules, `${name}.js`))
    return seen
  }
}

/**
 * Lets `import.meta.url` be the place that a module has in the folder of modules, although its text is
 * in another file: it tells of neighbours. `createRequire` finds the same packages from anywhere.
 */
function keepPlaces(modules: string): Plugin {
  const mark = 'placeOfModule'
  return {
    name: 'keep-places',
    transform: (code, id) =>
      code.replace(
        /(?<!createRequire\()import\.meta\.url/g,
        `${mark}(${JSON.stringify(relative(modules, id))})`,
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
