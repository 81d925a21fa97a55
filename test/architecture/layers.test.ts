import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { describe, expect, it } from 'vitest'

const SRC = resolve(import.meta.dirname, '../../src')

/** The table of DESIGN section 7: folder -> folders it may import besides itself. */
const ALLOWED: Record<string, readonly string[]> = {
  core: [],
  kernels: [],
  batch: ['core'],
  wire: ['core'],
  webhdfs: ['core'],
  state: ['core', 'kernels'],
  models: ['core', 'kernels'],
  operators: ['core', 'batch', 'state', 'models'],
  dataflow: ['core', 'batch', 'state', 'models', 'operators'],
  checkpoint: ['core', 'state', 'webhdfs'],
  runtime: ['core', 'batch', 'state', 'webhdfs', 'operators', 'dataflow', 'checkpoint'],
  connectors: ['core', 'batch', 'webhdfs', 'operators'],
  training: ['core', 'kernels', 'models'],
  serving: ['core', 'kernels', 'wire', 'state', 'models'],
  client: ['core', 'wire'],
  gateway: ['core', 'client', 'models'],
  jobmanager: [
    'core',
    'wire',
    'state',
    'models',
    'operators',
    'dataflow',
    'checkpoint',
    'runtime',
    'serving',
  ],
  jobs: [
    'core',
    'kernels',
    'batch',
    'wire',
    'state',
    'models',
    'operators',
    'dataflow',
    'checkpoint',
    'runtime',
    'connectors',
    'training',
    'serving',
  ],
  testing: [
    'core',
    'kernels',
    'batch',
    'wire',
    'state',
    'models',
    'operators',
    'dataflow',
    'checkpoint',
    'runtime',
    'connectors',
    'training',
    'serving',
    'client',
    'jobmanager',
    'jobs',
  ],
}

/** Layers that may import everything. */
const TOP = new Set(['cli', 'index.ts'])

/** Third-party packages and the only places that may import them. */
const FENCES: readonly { readonly packages: RegExp; readonly places: readonly string[] }[] = [
  { packages: /^(@nxtedition\/rocksdb|rocksdb-native|classic-level)$/, places: ['state'] },
  { packages: /^(@platformatic\/kafka|kafkajs)$/, places: ['connectors/kafka'] },
  { packages: /^fastify$/, places: ['gateway', 'jobmanager'] },
  { packages: /^onnxruntime-node$/, places: ['training', 'models/onnx'] },
]

const PURE = ['core', 'batch', 'wire', 'models', 'checkpoint/protocol']
const IO_MODULES = /^node:(fs|net|http|https|tls|dgram|child_process|worker_threads|timers)/

function sourceFiles(folder = SRC): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(SRC, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((file) => !file.includes('/assembly/'))
}

function importsOf(file: string): string[] {
  const text = readFileSync(join(SRC, file), 'utf8')
  const found = text.matchAll(
    /(?:^|\n)\s*(?:import|export)\s[^'"`;]*?from\s+['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]|(?:^|\n)import\s+['"]([^'"]+)['"]/g,
  )
  return [...found].map((match) => match[1] ?? match[2] ?? match[3] ?? '')
}

const layerOf = (file: string): string => file.split('/')[0]!

describe('layers', () => {
  it('import one way, as the table of DESIGN section 7 says', () => {
    const breaches: string[] = []
    for (const file of sourceFiles()) {
      const layer = layerOf(file)
      if (TOP.has(layer)) continue
      const allowed = ALLOWED[layer]
      if (allowed === undefined) {
        breaches.push(
          `src/${file}: the folder "${layer}" is not in the table; add it or move the file`,
        )
        continue
      }
      for (const target of importsOf(file).filter((name) => name.startsWith('.'))) {
        const to = relative(SRC, resolve(SRC, dirname(file), target))
          .split(sep)
          .join('/')
        const toLayer = layerOf(to)
        if (toLayer !== layer && !allowed.includes(toLayer)) {
          breaches.push(
            `src/${file} imports ${toLayer}, but ${layer} may only import ${allowed.join(', ') || 'nothing'}`,
          )
        }
      }
    }
    expect(breaches).toEqual([])
  })

  it('keep third-party packages behind their fences', () => {
    const breaches = sourceFiles().flatMap((file) =>
      importsOf(file).flatMap((name) =>
        FENCES.filter(
          (fence) =>
            fence.packages.test(name) &&
            !fence.places.some((place) => file.startsWith(`${place}/`)),
        ).map(
          (fence) =>
            `src/${file} imports ${name}, which belongs in src/${fence.places.join(' or src/')}`,
        ),
      ),
    )
    expect(breaches).toEqual([])
  })

  it('do no I/O in the pure folders', () => {
    const breaches = sourceFiles()
      .filter((file) => PURE.some((folder) => file.startsWith(`${folder}/`)))
      .flatMap((file) =>
        importsOf(file)
          .filter((name) => IO_MODULES.test(name))
          .map((name) => `src/${file} imports ${name}; pass what it needs as a parameter`),
      )
    expect(breaches).toEqual([])
  })

  it('read process.env and call process.exit only in cli', () => {
    const breaches = sourceFiles()
      .filter((file) => layerOf(file) !== 'cli')
      .filter((file) => /process\.(env|exit)\b/.test(readFileSync(join(SRC, file), 'utf8')))
      .map((file) => `src/${file} uses process.env or process.exit; only src/cli may`)
    expect(breaches).toEqual([])
  })

  it('have no drawers', () => {
    const drawers = sourceFiles().filter((file) =>
      /(^|\/)(utils?|helpers?|common|misc|shared|manager|base)(\/|\.ts$)/.test(file),
    )
    expect(drawers).toEqual([])
  })

  it('keep every file within 400 lines', () => {
    const long = sourceFiles()
      .filter((file) => !file.endsWith('.generated.ts'))
      .map((file) => ({ file, lines: readFileSync(join(SRC, file), 'utf8').split('\n').length }))
      .filter(({ lines }) => lines > 401)
      .map(({ file, lines }) => `src/${file} has ${lines} lines: a second concept lives in it`)
    expect(long).toEqual([])
  })
})
