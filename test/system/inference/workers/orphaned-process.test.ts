import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { until } from '../../../run/until.ts'
import { weir } from '../../cli/command-process.ts'

/** A model that with a 1 says which process runs it, and never comes back. */
const MODULE = `import { writeFileSync } from 'node:fs'
export default {
  signature: {
    inputs: [{ name: 'x', datatype: 'FP32', shape: [-1] }],
    outputs: [{ name: 'y', datatype: 'FP32', shape: [-1] }],
  },
  run([x]) {
    if (new Float32Array(x.data.buffer, x.data.byteOffset, 1)[0] !== 1) return [{ ...x, name: 'y' }]
    writeFileSync(new URL('process', import.meta.url), String(process.pid))
    for (;;) Math.random()
  },
}
`

it('a process whose model never comes back ends when its server was killed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-orphan-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const version = join(folder, 'endless', '1')
  mkdirSync(version, { recursive: true })
  writeFileSync(join(version, 'model.mjs'), MODULE)
  const settings = 'isolation: process\nslo-ms: 600000\n'
  writeFileSync(join(folder, 'endless', 'deployment.yaml'), settings)
  const listen = ['--http', '127.0.0.1:0', '--port', '0']
  const data = ['--data-dir', join(folder, 'data')]
  await using server = weir(['run', 'models', '--repository', folder, ...listen, ...data])
  const [, url] = await server.printed(/(http:\/\/127\.0\.0\.1:\d+)/)
  await server.printed(/version 1 of endless is live/)
  const body = '{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1]}]}'
  const asked = fetch(`${url}/v2/models/endless/infer`, { method: 'POST', body }).catch(() => {})
  const path = join(version, 'process')
  await until('the model runs', () => existsSync(path) && readFileSync(path, 'utf8') !== '')
  const pid = Number(readFileSync(path, 'utf8'))
  expect(isRunning(pid)).toBe(true)
  // The server alone, not its group.
  process.kill(server.pid, 'SIGKILL')
  await asked
  await until('the process of the model has ended', () => !isRunning(pid))
})

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
