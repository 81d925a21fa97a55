import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOM_IMPORTS } from './room-imports.ts'
import { filesOf, importedFiles, importsOf, textOf } from './source-tree.ts'

/** Rooms that may import everything. */
const TOP: ReadonlySet<string> = new Set(['', 'cli'])

/** Third-party packages and the only places that may import them. */
const FENCES: readonly { readonly packages: RegExp; readonly places: readonly string[] }[] = [
  { packages: /^(@nxtedition\/rocksdb|classic-level)$/, places: ['state/store'] },
  { packages: /^(@platformatic\/kafka|kafkajs)$/, places: ['connectors/kafka'] },
  {
    packages: /^(fastify|@fastify\/.*)$/,
    places: ['gateway', 'http', 'cluster/rest', 'cluster/jobmanager'],
  },
  {
    packages: /^onnxruntime-node$/,
    places: ['training/als/gpu', 'training/bmf/gpu', 'training/gpu', 'inference/runners'],
  },
]

const PURE = ['core', 'wire', 'models', 'runtime/checkpoint/protocol']

/** Rooms inside of these that are not: spans go to a collector, and models are read from topics and written to them. */
const NOT_PURE = [
  'core/tracing',
  'models/observations',
  'models/publish',
  'models/retention',
  'models/topic',
  'models/versions',
]
const IO_MODULES = /^node:(fs|net|http|https|tls|dgram|child_process|worker_threads|timers)/

const files = filesOf('src')

/** The room of a file: its folder below `src`. */
const roomOf = (file: string): string => dirname(file).split('/').slice(1).join('/')

const isIn = (file: string, places: readonly string[]): boolean =>
  places.some((place) => file.startsWith(`src/${place}/`))

/** The rooms that the files of a room import, besides that room. */
function usedBy(room: string): readonly string[] {
  const targets = files.filter((file) => roomOf(file) === room).flatMap(importedFiles)
  return [...new Set(targets.map(roomOf))].filter((target) => target !== room).sort()
}

const rooms = [...new Set(files.map(roomOf))].filter((room) => !TOP.has(room)).sort()

describe('rooms', () => {
  it('are all in the table', () => {
    expect(Object.keys(ROOM_IMPORTS).sort()).toEqual(rooms)
  })

  it.each(rooms)('import what the table says: %s', (room) => {
    expect([...(ROOM_IMPORTS[room] ?? [])].sort(), 'test/architecture/room-imports.ts').toEqual(
      usedBy(room),
    )
  })

  it('keep third-party packages behind their fences', () => {
    const breaches = files.flatMap((file) =>
      importsOf(file).flatMap((name) =>
        FENCES.filter((fence) => fence.packages.test(name) && !isIn(file, fence.places)).map(
          (fence) =>
            `${file} imports ${name}, which belongs in src/${fence.places.join(' or src/')}`,
        ),
      ),
    )
    expect(breaches).toEqual([])
  })

  it('do no I/O in the pure folders', () => {
    const breaches = files
      .filter((file) => isIn(file, PURE) && !isIn(file, NOT_PURE))
      .flatMap((file) =>
        importsOf(file)
          .filter((name) => IO_MODULES.test(name))
          .map((name) => `${file} imports ${name}; pass what it needs as a parameter`),
      )
    expect(breaches).toEqual([])
  })

  it('read process.env and call process.exit only in cli', () => {
    const breaches = files
      .filter((file) => !file.startsWith('src/cli/'))
      .filter((file) => /process\.(env|exit)\b/.test(textOf(file)))
      .map((file) => `${file} uses process.env or process.exit; only src/cli may`)
    expect(breaches).toEqual([])
  })
})
