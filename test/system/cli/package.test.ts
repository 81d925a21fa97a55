import { execFile } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { nodeOfVersion, npmPackage } from '../../services/npm-package.ts'
import { putClientPackage, putPackage } from '../client/built-packages.ts'
import { importedPackages } from '../client/imported-packages.ts'
import { CommandProcess } from './command-process.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc')
const run = promisify(execFile)

/** The versions of a Node that are tried: of four, the short part has one, by the seed. */
const tried = (versions: readonly string[], first: number): readonly string[] =>
  versions.filter((_, n) => campaignSize(first + n === commitSeed() % 4, true))

/** Besides the Node that runs the tests: the oldest one and the newest one that are supported. */
const OTHER_NODES = tried(['22.18.0', '26.10.0'], 0)
/** Others that the project of `npm create` names: the newest of the oldest line, and the first of the one after it. */
const NODES_OF_PROJECT = tried(['22.23.3', '24.0.0'], 2)
/** A Node that is too old, and the oldest TypeScript that users have; the tests run with the newest one. */
const OLD_NODE = '20.19.5'
const OLDER_TYPESCRIPT = '5.9.3'
/** Settings of a job beside others of the machine. */
const PORTS = { WEIR_PORT: '0', WEIR_REST_ENABLED: 'false' }

let folder: string
let built: string
let consumer: string

/** Runs a Node, this one by default, and gives what it wrote; rejects with its output when it fails. */
async function node(
  args: readonly string[],
  cwd: string,
  program = process.execPath,
): Promise<string> {
  try {
    return (await run(program, args, { cwd, maxBuffer: 64 * 2 ** 20 })).stdout
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`node ${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error })
  }
}

/** The exit code of this Node with such arguments. */
async function exitCodeOf(args: readonly string[]): Promise<unknown> {
  return await run(process.execPath, args).then(
    () => 0,
    (error: { code: unknown }) => error.code,
  )
}

/** The package as it is published, built beside the repository, and a project that installed it. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-package-'))
  built = join(folder, 'weir')
  consumer = join(folder, 'consumer')
  mkdirSync(built)
  for (const name of [
    'package.json',
    'LICENSE',
    'README.md',
    'CHANGELOG.md',
    'SECURITY.md',
    'docs',
  ]) {
    cpSync(join(ROOT, name), join(built, name), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(built, 'node_modules'))
  await putPackage(join(built, 'dist'))
  cpSync(join(ROOT, 'test/fixtures/consumer'), consumer, { recursive: true })
  mkdirSync(join(consumer, 'node_modules/@weirjs'), { recursive: true })
  symlinkSync(built, join(consumer, 'node_modules/@weirjs/weir'))
  symlinkSync(join(ROOT, 'node_modules/@types'), join(consumer, 'node_modules/@types'))
})

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

interface Packed {
  readonly files: readonly { readonly path: string }[]
}

let packing: Promise<readonly string[]> | undefined

/** The files that npm packs, which does not change between tests. */
function packedFiles(): Promise<readonly string[]> {
  packing ??= listPacked()
  return packing
}

async function listPacked(): Promise<readonly string[]> {
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: built,
  })
  const [found] = JSON.parse(stdout) as Packed[]
  return found!.files.map(({ path }) => path).sort()
}

/** Modules of `src` that are started or imported by their URL, without ending. */
function modulesWithUrl(): string[] {
  const src = join(ROOT, 'src')
  return readdirSync(src, { recursive: true, encoding: 'utf8' }).flatMap((file) => {
    if (!file.endsWith('.ts')) return []
    const text = readFileSync(join(src, file), 'utf8')
    return [...text.matchAll(/siblingModule\(\s*'([^']+)'/g)].map(([, path]) =>
      relative(src, resolve(src, dirname(file), path!)),
    )
  })
}

/** The shared files of the package that are loaded with a module: without what `import()` loads later. */
function chunksLoadedBy(module: string): string[] {
  const loaded = new Set([join(built, 'dist', module)])
  for (const file of loaded) {
    const imports = readFileSync(file, 'utf8').matchAll(/^import .*?"(\.[^"]+)";?$/gm)
    for (const [, name] of imports) loaded.add(resolve(dirname(file), name!))
  }
  return [...loaded]
    .filter((file) => basename(dirname(file)) === 'chunks')
    .map((file) => basename(file))
}

describe('the package', () => {
  it('has every module that is started by its URL, at its place', async () => {
    const started = modulesWithUrl()
    expect(started).toContain('runtime/slot/thread')
    expect(await packedFiles()).toEqual(
      expect.arrayContaining(started.map((module) => `dist/${module}.js`)),
    )
  })

  it.each([
    ['query', 'serving/threads/worker.js'],
    ['slot', 'runtime/slot/thread.js'],
  ])('starts a %s thread without code that only other threads need', (thread, module) => {
    const chunks = chunksLoadedBy(module)
    expect(chunks.length).toBeGreaterThan(3)
    expect(chunks.filter((chunk) => !chunk.split('-').includes(thread))).toEqual([])
  })

  it('has the library, its types, the command line, the documentation and nothing else', async () => {
    const files = await packedFiles()
    expect(files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'CHANGELOG.md']))
    const entries = [
      'index',
      'client/index',
      'testing/index',
      'core/tracing/index',
      'connectors/kafka/index',
      'inference',
      'learning',
      'cli/main',
    ]
    for (const entry of entries) {
      expect(files).toContain(`dist/${entry}.js`)
      expect(files).toContain(`dist/${entry}.d.ts`)
    }
    expect(files).toContain('dist/dashboard/index.html')
    expect(files).toEqual(expect.arrayContaining(['SECURITY.md', 'dist/bom.cdx.json']))
    const foreign = files.filter(
      (file) =>
        !/^(dist\/.*\.(js|d\.ts)|dist\/dashboard\/.*\.(html|css|svg)|dist\/bom\.cdx\.json|dist\/training\/spark\/train\.py|docs\/.*|[A-Z]+(\.md)?|package\.json)$/.test(
          file,
        ),
    )
    expect(foreign).toEqual([])
    expect(files.filter((file) => /\.test\.|^dist\/.*benchmark|\.as\./.test(file))).toEqual([])
  })

  it('depends only on the packages that it imports; ONNX models, a GPU, images, texts, Parquet and Arrow files, and S3 need an optional peer', () => {
    const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } =
      JSON.parse(readFileSync(join(built, 'package.json'), 'utf8')) as Record<
        string,
        Record<string, unknown>
      >
    const names = [
      '@aws-sdk/client-s3',
      '@huggingface/tokenizers',
      'apache-arrow',
      'hyparquet',
      'hyparquet-writer',
      'onnxruntime-node',
      'sharp',
    ]
    expect(Object.keys(peerDependencies!)).toEqual(names)
    const optional = names.map((name) => [name, { optional: true }])
    expect(peerDependenciesMeta).toEqual(Object.fromEntries(optional))
    expect(
      Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }).sort(),
    ).toEqual([...importedPackages(join(built, 'dist'))].sort())
  })

  it('is packed with the package of the client by one command', async () => {
    await putClientPackage(join(built, 'dist-client'))
    const { scripts } = JSON.parse(readFileSync(join(built, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>
    }
    // What is before `&&` builds both.
    const [, pack] = scripts['packages']!.split(' && ')
    const { stdout } = await run('sh', ['-c', `${pack} --dry-run --json`], { cwd: built })
    const packed = JSON.parse(stdout) as { name: string; version: string }[]
    expect(packed.map(({ name }) => name)).toEqual(['@weirjs/weir', '@weirjs/client'])
    expect(new Set(packed.map(({ version }) => version)).size).toBe(1)
  })

  it('has types that a strict project compiles against', async () => {
    expect(await node([TSC, '-p', consumer], consumer)).toBe('')
  })

  it('has entries whose types need no library but ES2022 and Node', async ({ skip }) => {
    const entries = join(consumer, 'entries')
    expect(await node([TSC, '-p', entries], entries)).toBe('')
    const older = await npmPackage('typescript', OLDER_TYPESCRIPT)
    if (older === undefined) return skip(`no TypeScript ${OLDER_TYPESCRIPT}`)
    expect(await node([join(older, 'bin/tsc'), '-p', entries], entries)).toBe('')
  })

  it('says in one sentence at each entry that a Node is too old', async ({ skip }) => {
    const program = await nodeOfVersion(OLD_NODE)
    if (program === undefined) return skip(`no Node ${OLD_NODE}`)
    const problem = `Weir needs Node 22.18 or newer, and this is Node ${OLD_NODE}`
    const command = node([join(built, 'dist/cli/main.js'), '--help'], folder, program)
    await expect(command).rejects.toThrow(new RegExp(`failed:\\nweir: ${problem}\\n$`))
    const { exports } = JSON.parse(readFileSync(join(built, 'package.json'), 'utf8')) as {
      exports: Record<string, { default: string }>
    }
    const entries = Object.values(exports).map(
      (one) => pathToFileURL(join(built, one.default)).href,
    )
    expect(entries.length).toBeGreaterThan(6)
    const load = `for (const entry of process.argv.slice(1)) await import(entry).catch(({ name, message }) => console.log(name + ': ' + message))`
    const said = await node(['--input-type=module', '-e', load, ...entries], folder, program)
    expect(said.trimEnd().split('\n')).toEqual(entries.map(() => `WeirError: ${problem}`))
  })

  it('runs jobs, worker threads, query threads and the client from another project', async () => {
    const lines = (await node(['main.ts', join(folder, 'data')], consumer)).trim().split('\n')
    expect(JSON.parse(lines.at(-1)!)).toEqual({
      words: { a: 3, b: 2 },
      sums: [3, 11],
      doubled: [2, 4, 6],
      served: { visited: true, connections: 1 },
      guarantee: 'at-least-once',
      clock: 5,
      code: 'UNSUPPORTED',
    })
  })

  it('prints next steps of a created project that work as they are printed', async () => {
    const project = join(folder, 'steps')
    const printed = await node([join(ROOT, 'create/create.js'), project], folder)
    const steps = printed.split('\n').map((line) => line.replace(/ +#.*/, '').trim())
    const bin = join(project, 'node_modules/.bin')
    mkdirSync(bin, { recursive: true })
    mkdirSync(join(project, 'node_modules/@weirjs'), { recursive: true })
    symlinkSync(built, join(project, 'node_modules/@weirjs/weir'))
    const entry = join(built, 'dist/cli/main.js')
    writeFileSync(join(bin, 'weir'), `#!/bin/sh\nexec '${process.execPath}' '${entry}' "$@"\n`, {
      mode: 0o755,
    })
    const shell = (line: string, env: Record<string, string> = {}): CommandProcess =>
      new CommandProcess('sh', ['-c', line], { cwd: project, env: { ...PORTS, ...env } })
    // What npm would get from the registry is there already.
    const first = steps.findIndex((step) => step.startsWith('npm install')) + 1
    const rest = steps.slice(first).filter((step) => step !== '')
    expect(rest).toEqual([
      'npm test',
      'npx weir topic create visits --partitions 2',
      'npm start',
      'echo home | npx weir topic produce visits',
      'npx weir query VISITS home',
    ])
    const [test, create, start, produce, query] = rest as [string, string, string, string, string]
    for (const step of [test, create]) {
      const { code, stdout, stderr } = await shell(step).ended
      expect({ step, code }, `${stdout}${stderr}`).toEqual({ step, code: 0 })
    }
    await using job = shell(start)
    const [, port] = await job.printed(/serving queries on [^ ]+:(\d+)/)
    expect((await shell(produce).ended).code).toBe(0)
    await expect
      .poll(async () => (await shell(query, { WEIR_PORT: port! }).ended).stdout)
      .toMatch(/^home +1$/m)
    job.signal('SIGINT')
    await job.ended
  })

  /** The project that `npm create` makes, with the built package and without its topics. */
  async function created(name: string): Promise<string> {
    const project = join(folder, name)
    await node([join(ROOT, 'create/create.js'), project], folder)
    mkdirSync(join(project, 'node_modules/@weirjs'), { recursive: true })
    symlinkSync(built, join(project, 'node_modules/@weirjs/weir'))
    symlinkSync(join(ROOT, 'node_modules/@types'), join(project, 'node_modules/@types'))
    return project
  }

  /** Tests a created project, counts three visits with its job, and asks for one of the counts. */
  async function runCreated(project: string, program = process.execPath): Promise<void> {
    // Node 24 before 24.3 says that stripping types is an experiment.
    const quiet = '--disable-warning=ExperimentalWarning'
    expect(await node([quiet, '--test', 'src/**/*.test.ts'], project, program)).toMatch(
      /^\S+ pass 2$/m,
    )
    const weir = join(built, 'dist/cli/main.js')
    await node([weir, 'topic', 'create', 'visits', '--partitions', '2'], project, program)
    const words = ['run', 'src/visits-job.ts', '--port', '0', '--json', '-D', 'rest.enabled=false']
    await using job = new CommandProcess(program, [quiet, weir, ...words], { cwd: project })
    const [, port] = await job.printed(/"started","port":(\d+)/)
    const produced = new CommandProcess(program, [weir, 'topic', 'produce', 'visits'], {
      cwd: project,
    }).input('home\ndocs\nhome\n')
    expect((await produced.ended).code).toBe(0)
    const query = [weir, 'query', 'VISITS', 'home', '--values', '--port', port!]
    await expect.poll(() => node(query, project, program).catch(() => '')).toBe('home  2\n')
    job.signal('SIGINT')
    expect((await job.ended).code).toBe(0)
  }

  it('runs the project that npm create makes: types, test, job, query', async () => {
    const project = await created('my-job')
    expect(await exitCodeOf([join(ROOT, 'create/create.js'), project])).toBe(2)
    expect(await node([TSC, '-p', project], project)).toBe('')
    const weir = join(built, 'dist/cli/main.js')
    expect(await node([weir, 'run', 'src/visits-job.ts', '--help'], project)).toMatch(
      /^ {2}topic +Topic of visits/m,
    )
    await runCreated(project)
  })

  /** Runs the quickstart with little training and looks at the error of its model. */
  async function runQuickstart(data: string, flags: string[], program?: string): Promise<void> {
    const words = ['quickstart', '--once', '--json', '--no-loop', '--data-dir', data]
    const small = ['--factors', '5', '--iterations', '2']
    const args = [join(built, 'dist/cli/main.js'), ...words, ...small, ...flags]
    const lines = (await node(args, folder, program)).trim().split('\n')
    expect(lines).toHaveLength(1)
    const summary = JSON.parse(lines[0]!) as { version: number; rmse: number }
    expect(summary.version).toBe(1)
    expect(summary.rmse).toBeGreaterThan(0.5)
    expect(summary.rmse).toBeLessThan(1.1)
  }

  it('runs the quickstart from its built command line', async () => {
    await runQuickstart(join(folder, 'quickstart'), ['-D', 'state.backend.type=leveldb'])
  })

  it.for(NODES_OF_PROJECT)(
    'runs the project that npm create makes under Node %s: test, job, query',
    async (version, { skip }) => {
      const program = await nodeOfVersion(version)
      if (program === undefined) return skip(`no Node ${version}`)
      expect(await node(['--version'], folder, program)).toBe(`v${version}\n`)
      await runCreated(await created(`job-${version}`), program)
    },
  )

  it.for(OTHER_NODES)(
    'has help, a quickstart, the created project and a job that clients ask under Node %s, with RocksDB',
    async (version, { skip }) => {
      const program = await nodeOfVersion(version)
      if (program === undefined) return skip(`no Node ${version}`)
      expect(await node(['--version'], folder, program)).toBe(`v${version}\n`)
      const weir = join(built, 'dist/cli/main.js')
      expect(await node([weir, '--help'], folder, program)).toMatch(/^ +quickstart /m)
      const data = join(folder, `node-${version}`)
      const store = ['-D', 'state.backend.type=rocksdb']
      await runQuickstart(data, store, program)
      await runCreated(await created(`job-${version}`), program)
      const words = ['run', 'als-serving', '--data-dir', data, '--port', '0', '--json', ...store]
      await using job = new CommandProcess(program, [weir, ...words, '-D', 'rest.enabled=false'], {
        cwd: folder,
      })
      const [, port] = await job.printed(/"started","port":(\d+)/)
      await job.printed(/"event":"live"/)
      const predict = [weir, 'predict', '1', '2', '--port', port!, '--timeout', '60000']
      expect(await node(predict, folder, program)).toMatch(/^2 .*version 1$/m)
      job.signal('SIGINT')
      expect(await job.ended).toMatchObject({ code: 0 })
    },
  )
})
