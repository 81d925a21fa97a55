import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { weir } from '../cli/command-process.ts'

const DOUBLE = `const spec = { datatype: 'FP32', shape: [-1, 1] }
export default {
  signature: { inputs: [{ name: 'x', ...spec }], outputs: [{ name: 'y', ...spec }] },
  run: ([x]) => [{ ...x, name: 'y' }],
}
`

it('a remote model whose server never answers keeps neither the ports closed nor other models waiting, and is named', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-silent-'))
  const silent = createServer((socket) => socket.on('error', () => {}))
  await once(silent.listen(0, '127.0.0.1'), 'listening')
  const { port } = silent.address() as AddressInfo
  const write = (model: string, file: string, text: string): void => {
    mkdirSync(join(folder, 'models', model, '1'), { recursive: true })
    writeFileSync(join(folder, 'models', model, '1', file), text)
  }
  write('double', 'model.mjs', DOUBLE)
  // A loaded machine may take longer than the default goal.
  writeFileSync(join(folder, 'models', 'double', 'deployment.yaml'), 'slo-ms: 60000\n')
  const url = `http://127.0.0.1:${port}`
  write('far', 'model.json', JSON.stringify({ url, model: 'far' }))
  const ports = ['--port', '0', '--http', '127.0.0.1:0', '-D', 'rest.enabled=false']
  await using server = weir(['run', 'models', '--repository', join(folder, 'models'), ...ports])
  const [, http] = await server.printed(/(http:\/\/127\.0\.0\.1:\d+)\/v2/)
  await server.printed(/version 1 of double is live/)
  const inputs = [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [3] }]
  const ask = { method: 'POST', body: JSON.stringify({ inputs }) }
  const answer = await fetch(`${http}/v2/models/double/infer`, ask)
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('[3]')])
  const far = await fetch(`${http}/v2/models/far/infer`, ask)
  expect(far.status).toBe(503)
  await server.printed(new RegExp(`the model server ${url} does not answer`))
  silent.close()
  rmSync(folder, { recursive: true, force: true })
})
