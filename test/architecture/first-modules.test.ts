import { dirname } from 'node:path'
import { expect, it } from 'vitest'
import { filesOf, loadedWith, textOf } from './source-tree.ts'

/** Rooms with little code, which `weir run` needs to read its flags and to start threads. */
const START_ROOMS: ReadonlySet<string> = new Set([
  'cli',
  'cli/cluster',
  'cli/command',
  'cli/flag-kinds',
  'cli/flags',
  'cli/serve',
  'cli/text',
  'cli/verbs',
  'cluster/jobmanager/process',
  'connectors/topics',
  'core',
  'core/lifetime',
  'core/text',
  'core/tracing',
  'jobs/serve',
  'runtime/configuration',
  'runtime/protocol',
  'runtime/slot',
  'serving/threads',
  'state/port',
])

/** The first modules of `weir run` (`start` in scripts/build-package.ts). */
const first = loadedWith('src/cli/start-command-line.ts', 'src/cli/verbs/run.ts')

it('`weir run` starts its threads before it loads the code of jobs and servers', () => {
  const others = first.filter((file) => !START_ROOMS.has(dirname(file).replace('src/', '')))
  expect(others).toEqual([])
})

it('`weir run` loads at most 60 modules before it starts its threads', () => {
  expect(first.length).toBeLessThanOrEqual(60)
})

it.each([
  'src/runtime/slot/thread.ts',
  'src/runtime/slot/pool/thread.ts',
  'src/serving/threads/worker.ts',
])('%s starts without the code of cryptography', (thread) => {
  const files = loadedWith(thread)
  const users = files.filter((file) => textOf(file).includes("from 'node:crypto'"))
  expect(users).toEqual([])
})

it('no module imports `node:http`, whose exports load a WebSocket client: `http/builtin.ts` has it', () => {
  const imports = /^import (?!type ).*from 'node:http'/m
  expect(filesOf('src').filter((file) => imports.test(textOf(file)))).toEqual([])
})
