import { execFile } from 'node:child_process'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { GatewayWorld } from '../../gateway/world.ts'
import { needs } from '../../run/needs.ts'
import { pythonWith } from '../../services/python-packages.ts'

const run = promisify(execFile)
const script = fileURLToPath(new URL('triton_client.py', import.meta.url))
const python = await pythonWith('tritonclient[grpc,http]==2.73.0')

describe(
  'tritonclient from PyPI, unchanged',
  needs(python, 'tritonclient cannot be installed here'),
  () => {
    it('reads metadata, infers with binary tensors and JSON, and gets typed errors', async () => {
      const app = await new GatewayWorld().open()
      try {
        await app.listen({ host: '127.0.0.1', port: 0 })
        const { port } = app.server.address() as AddressInfo
        const { stdout } = await run(python!, [script, `127.0.0.1:${port}`])
        const answer = { score: [10, 1], cold: [false, true], id: 'r7' }
        expect(JSON.parse(stdout)).toEqual({
          live: true,
          ready: true,
          model_ready: true,
          server: 'weir',
          inputs: ['user', 'item'],
          config: 'TYPE_STRING',
          index: expect.arrayContaining([
            { name: 'ALS_MODEL', version: '1', state: 'READY', reason: 'live' },
          ]),
          binary: answer,
          json: answer,
          all: [false, false],
          compressed: [10, 1],
          decision: [17],
          async: [10, 1],
          error: 'no model is named "NOPE"; the models are ALS_MODEL, SVM_MODEL',
          stats: [48, 24],
        })
      } finally {
        await app.close()
      }
    })
  },
)
