import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, describe, expect, it } from 'vitest'
import { QueryServer } from '../../../src/serving/server/query-server.ts'
import { needs } from '../../run/needs.ts'
import { FakeQueryBackend } from '../../serving/port/fake-query-backend.ts'

const run = promisify(execFile)
const script = fileURLToPath(new URL('query_client.py', import.meta.url))

async function hasPython(): Promise<boolean> {
  try {
    await run('python3', ['--version'])
    return true
  } catch {
    console.log('skipped: python3 is not installed, so the second client cannot run')
    return false
  }
}

const python = await hasPython()
let server: QueryServer | undefined

afterEach(async () => {
  await server?.close()
})

describe(
  'a Python client written from docs/reference/query-protocol.md',
  needs(python, 'no python3 here'),
  () => {
    it('sends a hello, reads the routing table, predicts, and reads a row and an error', async () => {
      const backend = new FakeQueryBackend('M')
      backend.rows.set('1-U', Float32Array.of(1, 2))
      backend.rows.set('2-U', Float32Array.of(2, 2))
      backend.rows.set('7-I', Float32Array.of(3, 4))
      backend.slowKeys.add('2-U')
      server = new QueryServer(backend)
      const port = await server.listen()
      backend.endpoints = [{ server: 'query-0', host: '', port }]
      const pairs = ['1-U', '7-I', '2-U', '7-I', 'none', '7-I', '1-U', '1-U']
      const { stdout } = await run('python3', [script, String(port), 'M', ...pairs])
      const lines = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      expect(lines).toEqual([
        { server: 'query-0', job: 'als', idleTimeoutMs: 120_000, maxOutstanding: 4096 },
        backend.routing(),
        [11, 14, { status: 1 }, 5],
        { slot: 2, partition: 5, offset: 2 ** 40 + 1, age: 3.5, row: [1, 2] },
        { error: 'UNKNOWN_STATE' },
      ])
    })
  },
)
